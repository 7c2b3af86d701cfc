import type { Sql } from '../../src/db/client.ts';
import { sealLedgerLines } from '../../src/ledger/seal-ledger.ts';
import { until } from './until.ts';

/** Lets the next run of the Schedule seal what the last one noted. */
export const aMinutePasses = (sql: Sql) =>
  sql`UPDATE ledger_seal SET next_at = next_at - interval '1 minute'`;

/**
 * Seals all committed lines. Transaction ids are those of the whole cluster, so it may have to wait for a
 * transaction of another test's database.
 *
 * @returns the number of lines that are sealed now
 */
export async function sealEverything(sql: Sql, linesPerStatement?: number): Promise<number> {
  let sealed = 0;
  await until(async () => {
    await aMinutePasses(sql);
    sealed += await sealLedgerLines(sql, linesPerStatement);
    const [seal] = await sql<[{ isDone: boolean }]>`
      SELECT sealed_to = (SELECT coalesce(max(transfer_id), 0) FROM ledger_transfers) AS is_done
      FROM ledger_seal`;
    return seal.isDone;
  });
  return sealed;
}
