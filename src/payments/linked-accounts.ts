import { DomainError } from '../domain/index.ts';
import type { GatewayLinkedAccount, PaymentGateway } from './gateway.ts';
import { GatewayRefused, GatewayUnavailable, NO_SUCH_ACCOUNT } from './gateway.ts';
import type { Gateways } from './gateways.ts';

/** The states that a gateway reports. `missing`: the gateway no longer has the account. */
export type LinkedAccountState = GatewayLinkedAccount['state'] | 'missing';

/** A linked account of production, and what its gateway has just reported of it. */
export interface CheckedAccount {
  gateway: string;
  linkedAccountId: string;
  /** `unknown` also if the gateway is not configured for production, and so was not asked. */
  state: LinkedAccountState;
  /** The gateway makes no transfers to it before this time. */
  transfersFrom: Date;
  /** After this time reconciliation asks the gateway again. */
  checkAgainMs: number;
}

const HOUR_MS = 3_600_000;
/** An activated account can be suspended; every other one can be activated. */
const checkAgainMs = (state: LinkedAccountState) => (state === 'activated' ? 24 : 1) * HOUR_MS;

/**
 * Asks the gateway for an account that an operator wants to give to a merchant in production.
 *
 * @throws DomainError `BAD_REQUEST` if the gateway has no such account or refuses to report it;
 *   `GATEWAY_UNAVAILABLE` if it cannot be asked now. The message says what the operator can do.
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
