import { clearAlert, raiseAlert } from '../../alerts/alerts.ts';
import type { Sql } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import type { CheckedAccount, LinkedAccountState } from '../../merchants/public.ts';
import type { PaymentGateway } from '../gateway/gateway.ts';
import { GatewayRefused, GatewayUnavailable, NO_SUCH_ACCOUNT } from '../gateway/gateway.ts';
import type { GatewayDeps, Gateways } from '../gateway/gateways.ts';
import { gatewaySubject } from '../gateway/gateways.ts';

const HOUR_MS = 3_600_000;
/** An activated account can be suspended, and every other one can be activated. */
const checkAgainMs = (state: LinkedAccountState) => (state === 'activated' ? 24 : 1) * HOUR_MS;

/**
 * Asks the gateway about an account that an operator wants to give to a merchant in production.
 *
 * @throws DomainError `BAD_REQUEST` if the gateway has no such account or refuses to report it;
 * `GATEWAY_UNAVAILABLE` if it cannot be asked now. The message says what the operator can do
 */
export async function checkLinkedAccount(
  gateways: Gateways,
  gateway: string,
  linkedAccountId: string,
): Promise<CheckedAccount> {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(linkedAccountId)) {
    throw new DomainError('BAD_REQUEST', 'The linked account must be an id of the gateway: acc_…');
  }
  const port = gateways.find({ gateway, environment: 'production' });
  if (port === null) {
    const notAsked = { state: 'unknown', transfersFrom: new Date(0), checkAgainMs: 0 } as const;
    return { gateway, linkedAccountId, ...notAsked };
  }
  try {
    return { gateway, linkedAccountId, ...(await reportOf(port, linkedAccountId)) };
  } catch (error) {
    throw refusalOf(error, gateway, linkedAccountId);
  }
}

async function reportOf(port: PaymentGateway, linkedAccountId: string) {
  const { state, transfersFromMs } = await port.fetchLinkedAccount(linkedAccountId);
  return { state, transfersFrom: new Date(transfersFromMs), checkAgainMs: checkAgainMs(state) };
}

function refusalOf(error: unknown, gateway: string, linkedAccountId: string): unknown {
  const account = `the linked account ${linkedAccountId}`;
  if (error instanceof GatewayRefused) {
    const message =
      error.code === NO_SUCH_ACCOUNT
        ? `${gateway} does not have ${account}: copy the id from its dashboard`
        : `${gateway} refuses to report ${account}: ${error.description}`;
    return new DomainError('BAD_REQUEST', message, { cause: error });
  }
  if (!(error instanceof GatewayUnavailable)) return error;
  const message = `${gateway} cannot be asked for ${account} now: repeat this in a few minutes`;
  return new DomainError('GATEWAY_UNAVAILABLE', message, { cause: error });
}

/** The most accounts in one run, and its longest time. The next run continues. */
const ACCOUNTS_PER_RUN = 100;
const RUN_FOR_MS = 15_000;

/**
 * Asks the gateways about the linked accounts of production that are due: activated ones daily, others hourly. So a
 * merchant becomes ready, or stops being ready, without an operator. Accounts that wait to become active are
 * checked, too, so that an operator knows of a problem before. A failure is logged, and does not stop the rest.
 */
export async function checkLinkedAccounts(deps: GatewayDeps): Promise<void> {
  const endsAtMs = performance.now() + RUN_FOR_MS;
  const names = deps.gateways.all
    .filter(({ environment }) => environment === 'production')
    .map(({ gateway }) => gateway);
  for (let asked = 0; asked < ACCOUNTS_PER_RUN && performance.now() < endsAtMs; asked += 1) {
    const account = await takeAccountToCheck(deps.sql, names);
    if (!account) return;
    await checkAgain(deps, account).catch((err: unknown) => {
      const { merchantId, gateway } = account;
      deps.log.warn({ err, merchantId, gateway }, 'A linked account could not be checked');
    });
  }
}

async function checkAgain(deps: GatewayDeps, account: AccountToCheck): Promise<void> {
  const { merchantId, gateway, linkedAccountId, activeFrom, receivesTransfers: before } = account;
  const port = deps.gateways.forOrder({ gateway, environment: 'production' });
  const report = await reportOf(port, linkedAccountId).catch((error: unknown) => {
    if (!(error instanceof GatewayRefused) || error.code !== NO_SUCH_ACCOUNT) throw error;
    return { ...account, state: 'missing' as const, checkAgainMs: checkAgainMs('missing') };
  });
  const { state } = report;
  const receivesTransfers = await recordAccountState(deps.sql, { ...account, ...report });
  if (receivesTransfers === undefined) return;
  const kind = 'linked_account_unusable';
  const subject = gatewaySubject(gateway, linkedAccountId);
  if (receivesTransfers) {
    await clearAlert(deps.sql, kind, subject, 'the account receives transfers');
  } else if (state !== 'waiting' || before || activeFrom !== null) {
    const message =
      activeFrom === null
        ? 'A merchant cannot take payments, because its linked account receives no transfers'
        : 'A merchant will not take payments, because the linked account that it changes to receives no transfers';
    const waiting = activeFrom && { activeFrom: activeFrom.toISOString() };
    const fields = { merchantId, gateway, linkedAccountId, state, ...waiting };
    await raiseAlert(deps, { kind, subject, message, fields });
  }
}

/** A linked account of production to be checked, as it was last recorded. */
type AccountToCheck = Omit<CheckedAccount, 'checkAgainMs'> & {
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
async function takeAccountToCheck(
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
async function recordAccountState(
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
