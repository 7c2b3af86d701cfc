import type { Sql } from '../../db/client.ts';
import type { CheckedAccount } from '../../merchants/public.ts';

/** A linked account of production to be checked, as it was last recorded. */
export type AccountToCheck = Omit<CheckedAccount, 'checkAgainMs'> & {
  merchantId: string;
  receivesTransfers: boolean;
  /** When a changed account becomes active. Null for the active one. */
  activeFrom: Date | null;
};

/**
 * Takes the linked account of production that has been due for a check for longest. It is active or will be. If no
 * answer is recorded, it is due again after an hour.
 *
 * @param gateways the names of the gateways that can be asked
 * @returns undefined if none is due
 */
export async function takeAccountToCheck(
  sql: Sql,
  gateways: readonly string[],
): Promise<AccountToCheck | undefined> {
  const [row] = await sql<AccountToCheck[]>`
    UPDATE linked_accounts a
    SET check_at = service_now() + interval '1 hour'
    FROM (
      SELECT due.merchant_id, due.gateway, due.linked_account_id, waiting.active_from
      FROM linked_accounts due
      LEFT JOIN LATERAL active_linked_account(due.merchant_id, 'production', due.gateway) active
        ON active.linked_account_id = due.linked_account_id
      LEFT JOIN LATERAL waiting_linked_account(due.merchant_id, 'production', due.gateway) waiting
        ON waiting.linked_account_id = due.linked_account_id
      WHERE due.environment = 'production' AND due.gateway = ANY(${[...gateways]})
        AND due.check_at <= service_now()
        AND num_nonnulls(active.linked_account_id, waiting.linked_account_id) > 0
      ORDER BY due.check_at LIMIT 1 FOR UPDATE OF due SKIP LOCKED
    ) AS due
    WHERE a.environment = 'production' AND a.merchant_id = due.merchant_id
      AND a.gateway = due.gateway AND a.linked_account_id = due.linked_account_id
    RETURNING a.merchant_id, a.gateway, a.linked_account_id, a.state, a.transfers_from,
      a.receives_transfers, due.active_from`;
  return row;
}

/**
 * Records what the gateway reports about an account.
 *
 * @returns whether it receives transfers; undefined if the account is no longer the merchant's
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
