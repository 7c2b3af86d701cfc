import type { SimulatedGateway } from '../gateway.ts';

const TABLES = ['qrCodes', 'payments', 'transfers', 'accounts'] as const;
/** The times of their entities; some are null. */
const TIMES = ['created_at', 'close_by', 'processed_at'];

/**
 * Moves the times of all QR codes, payments, transfers and linked accounts into the past. The clock does
 * not change, because callers send absolute times: a QR code created afterwards must not be expired.
 */
export function ageEntities({ store }: SimulatedGateway, seconds: number): void {
  const olderRows = (table: (typeof TABLES)[number]) =>
    store.all(table).map((row) => {
      const fields = Object.entries(row.entity).map(([name, value]: [string, unknown]) => {
        const isTime = TIMES.includes(name) && typeof value === 'number';
        return [name, isTime ? value - seconds : value];
      });
      return [row.entity.id, { ...row, entity: Object.fromEntries(fields) as unknown }];
    });
  store.commit(
    Object.fromEntries(TABLES.map((table) => [table, Object.fromEntries(olderRows(table))])),
  );
}
