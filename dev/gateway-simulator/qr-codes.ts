import { type Notes, type QrCode, badRequest } from './entities.ts';
import { type SimulatedGateway, existing, publish } from './gateway.ts';
import { newId } from './random.ts';
import type { Row } from './store.ts';

export interface NewQrCode {
  payment_amount: number;
  description?: string | undefined;
  close_by?: number | undefined;
  notes?: Notes | undefined;
}

/** api/qr-codes/create: from 2 minutes, and never more than 2 hours, whatever was asked. */
const SHORTEST_LIFE_SECONDS = 120;
const LONGEST_LIFE_SECONDS = 7200;

function closeByOf(asked: number | undefined, now: number): number {
  const latest = now + LONGEST_LIFE_SECONDS;
  if (asked === undefined) return latest;
  if (asked < now + SHORTEST_LIFE_SECONDS) {
    throw badRequest('close_by should be at least 2 minutes after the current time');
  }
  return Math.min(asked, latest);
}

/** What a QR image holds: the UPI linking form, as api/qr-codes/image-content shows it. */
function imageContent(id: string, { payment_amount, description = '' }: NewQrCode): string {
  const fields = {
    pa: 'sandbox.razorpay@simulator',
    pn: 'Sandbox Merchant',
    tr: `RZP${id.slice('qr_'.length)}qrv2`,
    tn: description,
    am: (payment_amount / 100).toFixed(2),
    cu: 'INR',
    mc: '5411',
  };
  const query = Object.entries(fields).map(([name, text]) => `${name}=${encodeURIComponent(text)}`);
  return `upi://pay?${query.join('&')}`;
}

/** Makes a QR code for one payment of a fixed amount, the only kind that is simulated. */
export function createQrCode(gateway: SimulatedGateway, asked: NewQrCode): QrCode {
  const now = gateway.now();
  const id = newId('qr_');
  const entity: QrCode = {
    id,
    entity: 'qr_code',
    created_at: now,
    usage: 'single_use',
    type: 'upi_qr',
    image_url: `${gateway.publicUrl()}/upi/${id}`,
    image_content: imageContent(id, asked),
    payment_amount: asked.payment_amount,
    status: 'active',
    description: asked.description ?? '',
    fixed_amount: true,
    payments_amount_received: 0,
    payments_count_received: 0,
    notes: asked.notes ?? {},
    close_by: closeByOf(asked.close_by, now),
    closed_at: null,
    close_reason: null,
  };
  publish(gateway, { qrCodes: { [id]: { entity, paymentIds: [] } } });
  return entity;
}

/** The row as it is now: one whose time is over is closed when it is looked at. */
export function currentQrCode(gateway: SimulatedGateway, id: string): Row<'qrCodes'> {
  const row = existing(gateway, 'qrCodes', id);
  const { status, close_by } = row.entity;
  if (status === 'closed' || gateway.now() < close_by) return row;
  // No callback: webhooks/qr-codes says that expiry sends none.
  const expired = {
    ...row,
    entity: { ...row.entity, status: 'closed', closed_at: close_by },
  } as const;
  publish(gateway, { qrCodes: { [id]: expired } });
  return expired;
}

/** Closes it at the caller's wish. @throws RazorpayError 400 when it is closed already */
export function closeQrCode(gateway: SimulatedGateway, id: string): QrCode {
  const row = currentQrCode(gateway, id);
  if (row.entity.status === 'closed') throw badRequest('The QR Code is already closed');
  const entity: QrCode = {
    ...row.entity,
    status: 'closed',
    closed_at: gateway.now(),
    close_reason: 'on_demand',
  };
  const announcement = { name: 'qr_code.closed', entities: { qr_code: entity } };
  publish(gateway, { qrCodes: { [id]: { ...row, entity } } }, [announcement]);
  return entity;
}

/** Lets its time be over now, as if the buyer had waited. */
export function expireQrCode(gateway: SimulatedGateway, id: string): QrCode {
  const row = currentQrCode(gateway, id);
  if (row.entity.status === 'active') {
    const entity = { ...row.entity, close_by: gateway.now() };
    publish(gateway, { qrCodes: { [id]: { ...row, entity } } });
  }
  return currentQrCode(gateway, id).entity;
}
