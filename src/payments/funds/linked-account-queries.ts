import type { Sql } from '../../db/client.ts';
import type { CheckedAccount } from './linked-accounts.ts';

/** A linked account of production that is due, as it was recorded last. */
export type AccountToCheck = Omit<CheckedAccount, 'checkAgainMs'> & {
  merchantId: string;
  receivesTransfers: boolean;
};

/**
 * Takes the linked account of production that has been due for longest.
 *
 * @param gateways the names of the gateways that can be asked
 * @param retryMs after this time it is due again, if no answer is recorded
 * @returns undefined if none is due
 */
export async function takeAccountToCheck(
  sql: Sql,
  gateways: readonly string[],
  retryMs: number,
): Promise<AccountToCheck | undefined> {
  const [row] = await sql<AccountToCheck[]>`
    UPDATE linked_accounts
    SET check_at = service_now() + ${retryMs} * interval '1 millisecond'
    WHERE environment = 'production' AND (merchant_id, gateway) = (
      SELECT merchant_id, gateway FROM linked_accounts
      WHERE environment = 'production' AND gateway = ANY(${[...gateways]})
        AND check_at <= service_now()
      ORDER BY check_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING merchant_id, gateway, linked_account_id, state, transfers_from, receives_transfers`;
  return row;
}

/**
 * Records what the gateway reports of an account.
 *
 * @returns whether it receives transfers; undefined if the merchant has another account by now
 */
export async function recordAccountState(
  sql: Sql,
  account: CheckedAccount & { merchantId: string },
): Promise<boolean | undefined> {
  const [row] = await sql<[{ receivesTransfers: boolean }?]>`
    UPDATE linked_accounts
    SET state = ${account.state}, transfers_from = ${account.transfersFrom},
      check_at = service_now() + ${account.checkAgainMs} * interval '1 millisecond'
    WHERE merchant_id = ${account.merchantId} AND environment = 'production'
      AND gateway = ${account.gateway} AND linked_account_id = ${account.linkedAccountId}
    RETURNING receives_transfers`;
  return row?.receivesTransfers;
}
