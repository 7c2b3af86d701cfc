import { type SimulatedGateway, publish } from '../gateway.ts';

const byId = <Row extends { entity: { id: string } }>(rows: readonly Row[]) =>
  Object.fromEntries(rows.map((row) => [row.entity.id, row]));

/**
 * Moves the times of all QR codes, payments, transfers and linked accounts into the past. The clock does
 * not change, because callers send absolute times: a QR code created afterwards must not be expired.
 */
export function ageEntities(gateway: SimulatedGateway, seconds: number): void {
  const { store } = gateway;
  const qrCodes = store.all('qrCodes').map(({ entity, ...rest }) => {
    const { created_at, close_by } = entity;
    const older = { created_at: created_at - seconds, close_by: close_by - seconds };
    return { ...rest, entity: { ...entity, ...older } };
  });
  const payments = store.all('payments').map(({ entity, ...rest }) => {
    return { ...rest, entity: { ...entity, created_at: entity.created_at - seconds } };
  });
  const transfers = store.all('transfers').map(({ entity }) => {
    const { created_at, processed_at } = entity;
    const processed = processed_at === null ? null : processed_at - seconds;
    const older = { created_at: created_at - seconds, processed_at: processed };
    return { entity: { ...entity, ...older } };
  });
  const accounts = store.all('accounts').map(({ entity }) => {
    return { entity: { ...entity, created_at: entity.created_at - seconds } };
  });
  publish(gateway, {
    qrCodes: byId(qrCodes),
    payments: byId(payments),
    transfers: byId(transfers),
    accounts: byId(accounts),
  });
}
