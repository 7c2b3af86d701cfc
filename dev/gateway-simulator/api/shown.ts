import type { QrCode, Transfer } from '../state/entities.ts';
import type { SimulatedGateway } from '../gateway.ts';
import type { Row } from '../state/store.ts';
import { subjectsOfPayment, subjectsOfTransfer, switchOf } from '../switches.ts';

/** payments/route/schedule-settlement: T+2; a later release is settled at once. */
export const SETTLED_AFTER_SECONDS = 2 * 24 * 3600;

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

/**
 * The settlement of a transfer, as api/payments/route/fetch-settlement-details shows it; null until it is settled.
 * Here each one pays one transfer.
 */
function settlementOf({ recipient_settlement_id: id, ...transfer }: Transfer): object | null {
  if (id === null) return null;
  return {
    id,
    entity: 'settlement',
    amount: transfer.amount - transfer.amount_reversed,
    status: 'processed',
    fees: 0,
    tax: 0,
    utr: id.replace('setl_', 'utr').toLowerCase(),
    created_at: transfer.created_at + SETTLED_AFTER_SECONDS,
  };
}

/** A transfer with its settlement. */
export function shownSettledTransfer(gateway: SimulatedGateway, transfer: Transfer): object {
  return { ...shownTransfer(gateway, transfer), recipient_settlement: settlementOf(transfer) };
}

/** A transfer as the API and callbacks show it. */
export function shownTransfer(gateway: SimulatedGateway, transfer: Transfer): object {
  const { status, ...rest } = transfer;
  const field = switchOf(gateway, 'transferStatusField', subjectsOfTransfer(gateway, transfer));
  return { ...rest, [field]: status };
}
