import type { Sql } from '../../src/db/client.ts';

const ROWS_PER_STATEMENT = 50_000;

/** Writes audit rows of one year: by twenty operators and the merchant, about its orders. */
export async function loadAudit(sql: Sql, merchantId: string, rows: number): Promise<void> {
  for (let from = 0; from < rows; from += ROWS_PER_STATEMENT) {
    await sql`
      INSERT INTO audit_log (at, actor, address, action, merchant_id, subject, details)
      SELECT now() - (${rows} - n) * interval '30 seconds',
        CASE WHEN n % 3 = 0 THEN 'merchant:owner@example.com'
          ELSE 'operator:operator' || n % 20 || '@example.com' END,
        '203.0.113.' || n % 250,
        (ARRAY['order.retry', 'delivery.retry', 'dispute.decide', 'key.rotate'])[1 + n % 4],
        ${merchantId}, 'subject ' || n, '{"reason": "A reason that was given"}'
      FROM generate_series(${from + 1}::integer, ${from + ROWS_PER_STATEMENT}::integer) n
      WHERE n <= ${rows}`;
  }
}
