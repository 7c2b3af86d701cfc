import { publish } from './world.ts';
import type { World } from './world.ts';

/**
 * Makes everything that exists older by this much. The clock itself stays, because callers name
 * absolute times by theirs: a QR code opened afterwards must not be born expired.
 */
export function age(world: World, seconds: number): void {
  const qrCodes = world.book.all('qrCodes').map(({ entity, paymentIds }) => {
    const { created_at, close_by } = entity;
    const older = { created_at: created_at - seconds, close_by: close_by - seconds };
    return [entity.id, { entity: { ...entity, ...older }, paymentIds }] as const;
  });
  const payments = world.book.all('payments').map(({ entity, ...rest }) => {
    const created_at = entity.created_at - seconds;
    return [entity.id, { entity: { ...entity, created_at }, ...rest }] as const;
  });
  publish(world, {
    qrCodes: Object.fromEntries(qrCodes),
    payments: Object.fromEntries(payments),
  });
}
