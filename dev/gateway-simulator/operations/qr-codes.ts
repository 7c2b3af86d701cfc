import { z } from 'zod';
import { type QrCode, badRequest, notes } from '../state/entities.ts';
import { type SimulatedGateway, publish } from '../gateway.ts';
import { newId } from '../random.ts';
import { shownQrCode } from '../api/shown.ts';
import { type Row, requireRow } from '../state/store.ts';
import { switchOf } from '../switches.ts';

/** The body of api/qr-codes/create. */
export const newQrCode = z.strictObject({
  type: z.literal('upi_qr'),
  usage: z.literal('single_use'),
  fixed_amount: z.literal(true),
  payment_amount: z.number().int().min(1),
  name: z.string().optional(),
  description: z.string().optional(),
  close_by: z.number().int().min(946_684_800).max(4_765_046_400).optional(),
  notes: notes.optional(),
});
type NewQrCode = z.output<typeof newQrCode>;

/** api/qr-codes/create: a later `close_by` is reduced to 2 hours. */
const MAX_LIFETIME_SECONDS = 7200;

function closeByOf(gateway: SimulatedGateway, input: number | undefined, now: number): number {
  const latest = now + MAX_LIFETIME_SECONDS;
  if (input === undefined) return latest;
  const minutes = switchOf(gateway, 'closeByMinutes');
  if (input < now + minutes * 60) {
    throw badRequest(`close_by should be at least ${minutes} minutes after the current time`);
  }
  return Math.min(input, latest);
}

/** The content of the QR image: a UPI link. Source: api/qr-codes/image-content. */
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

/**
 * Creates a QR code for one payment of a fixed amount, the only kind that is simulated.
 *
 * @throws RazorpayError 400 while new QR codes are refused
 */
export function createQrCode(gateway: SimulatedGateway, input: NewQrCode): QrCode {
  const refusal = switchOf(gateway, 'qrCodesRefused');
  if (refusal !== null) throw badRequest(refusal);
  const now = gateway.now();
  const id = newId('qr_');
  const entity: QrCode = {
    id,
    entity: 'qr_code',
    created_at: now,
    usage: 'single_use',
    type: 'upi_qr',
    image_url: `${gateway.publicUrl()}/upi/${id}`,
    image_content: imageContent(id, input),
    payment_amount: input.payment_amount,
    status: 'active',
    description: input.description ?? '',
    fixed_amount: true,
    payments_amount_received: 0,
    payments_count_received: 0,
    notes: input.notes ?? {},
    close_by: closeByOf(gateway, input.close_by, now),
    closed_at: null,
    close_reason: null,
  };
  const newEvent = { name: 'qr_code.created', entities: { qr_code: shownQrCode(gateway, entity) } };
  publish(gateway, { qrCodes: { [id]: { entity, paymentIds: [] } } }, [newEvent]);
  return entity;
}

/** The current row: an expired QR code is closed when it is read. */
export function currentQrCode(gateway: SimulatedGateway, id: string): Row<'qrCodes'> {
  const row = requireRow(gateway, 'qrCodes', id);
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

/** Closes a QR code on demand. @throws RazorpayError 400 when it is already closed */
export function closeQrCode(gateway: SimulatedGateway, id: string): QrCode {
  const row = currentQrCode(gateway, id);
  if (row.entity.status === 'closed') throw badRequest('The QR Code is already closed');
  const entity: QrCode = {
    ...row.entity,
    status: 'closed',
    closed_at: gateway.now(),
    close_reason: 'on_demand',
  };
  const newEvent = { name: 'qr_code.closed', entities: { qr_code: shownQrCode(gateway, entity) } };
  publish(gateway, { qrCodes: { [id]: { ...row, entity } } }, [newEvent]);
  return entity;
}

/** Lets a QR code expire now. */
export function expireQrCode(gateway: SimulatedGateway, id: string): QrCode {
  const row = currentQrCode(gateway, id);
  if (row.entity.status === 'active') {
    const entity = { ...row.entity, close_by: gateway.now() };
    publish(gateway, { qrCodes: { [id]: { ...row, entity } } });
  }
  return currentQrCode(gateway, id).entity;
}
