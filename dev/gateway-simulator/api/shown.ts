import type { QrCode, Transfer } from '../state/entities.ts';
import type { SimulatedGateway } from '../gateway.ts';
import type { Row } from '../state/store.ts';
import { subjectsOfPayment, subjectsOfTransfer, switchOf } from '../switches.ts';

/** A QR code as the API and callbacks show it. */
export function shownQrCode(gateway: SimulatedGateway, qrCode: QrCode): object {
  const { image_content: _content, ...rest } = qrCode;
  return switchOf(gateway, 'imageContent', [qrCode.id]) ? qrCode : rest;
}

/** A payment as the API and callbacks show it. */
export function shownPayment(gateway: SimulatedGateway, row: Row<'payments'>): object {
  const { entity } = row;
  const subjects = subjectsOfPayment(gateway, row);
  const notes = { copied: entity.notes, none: {}, empty_list: [] };
  const acquirerData = { rrn: entity.acquirer_data, empty_list: [] };
  return {
    ...entity,
    notes: notes[switchOf(gateway, 'paymentNotes', subjects)],
    acquirer_data: acquirerData[switchOf(gateway, 'acquirerData', subjects)],
  };
}

/** A transfer as the API and callbacks show it. */
export function shownTransfer(gateway: SimulatedGateway, transfer: Transfer): object {
  const { status, ...rest } = transfer;
  const field = switchOf(gateway, 'transferStatusField', subjectsOfTransfer(gateway, transfer));
  return { ...rest, [field]: status };
}
