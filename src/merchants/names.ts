import type { Sql } from '../db/client.ts';

export type WithMerchantName<Row> = Row & {
  /** Null if the row has no merchant. */
  merchantName: string | null;
};

/** Adds the merchants' names to the rows of a page, with one statement. */
export async function withMerchantNames<Row extends { merchantId: string | null }>(
  sql: Sql,
  rows: readonly Row[],
): Promise<WithMerchantName<Row>[]> {
  const ids = [...new Set(rows.map(({ merchantId }) => merchantId))].filter((id) => id !== null);
  const found =
    ids.length === 0
      ? []
      : await sql<{ merchantId: string; name: string }[]>`
          SELECT merchant_id, name FROM merchants WHERE merchant_id = ANY (${ids})`;
  const names = new Map(found.map(({ merchantId, name }) => [merchantId, name]));
  return rows.map((row) => ({ ...row, merchantName: names.get(row.merchantId ?? '') ?? null }));
}
