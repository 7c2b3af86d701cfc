import type { PaymentGateway } from '../gateway/gateway.ts';
import type { GatewayLinkedAccount } from '../gateway/gateway-objects.ts';
import { GatewayRefused, NO_SUCH_ACCOUNT } from '../gateway/gateway.ts';
import { gatewayError, valueOf } from './client.ts';
import type { RazorpayClient } from './client.ts';
import { accountActivationSchema, accountSchema, accountStatusSchema } from './schemas.ts';

const ACCOUNTS = '/v2/accounts';
const ACCOUNTS_BETA = '/v1/beta/accounts';

/** The minimum age of an account for transfers (payments/route/transfer-funds-to-linked-accounts, prerequisites). */
const COOLING_PERIOD_MS = 24 * 60 * 60_000;

/** Both refusals of an unknown id contain it (api/payments/route/fetch-with-id). */
const DOES_NOT_EXIST = /does not exist/i;

/** The port's state for each status except `created`. */
const STATES = {
  activated: 'activated',
  needs_clarification: 'waiting',
  under_review: 'waiting',
  suspended: 'suspended',
} as const satisfies Record<string, GatewayLinkedAccount['state']>;

/** The refusal names the account that has this email (api/payments/route/create-linked-account). */
const EMAIL_TAKEN = /^Merchant email already exists for account - (?:acc_)?([A-Za-z0-9]+)/;

/** The fields that Razorpay requires beside the email and the name. */
const SANDBOX_ACCOUNT = {
  type: 'route',
  phone: '9000090000',
  business_type: 'proprietorship',
  profile: {
    category: 'ecommerce',
    subcategory: 'ecommerce_marketplace',
    addresses: {
      registered: {
        street1: '1 Sandbox Road',
        street2: 'Test Nagar',
        city: 'Bengaluru',
        state: 'KARNATAKA',
        postal_code: '560001',
        country: 'IN',
      },
    },
  },
};

/**
 * Finds whether an account with the status `created` may receive transfers. By payments/route/faqs, "Penny testing",
 * only an account with the activation status `activated` may. The beta API reports this status. `activation_status`
 * of the product configuration is the same, but it needs the product's id, which an account does not name. Razorpay
 * refuses the call where it has not enabled the beta API.
 */
async function activationOf(
  client: RazorpayClient,
  linkedAccountId: string,
  signal: AbortSignal,
): Promise<GatewayLinkedAccount['state']> {
  const path = `${ACCOUNTS_BETA}/${encodeURIComponent(linkedAccountId)}`;
  const answer = await client.call({ method: 'GET', path, signal }, accountActivationSchema);
  if (answer.kind === 'refused') return 'unknown';
  const { status } = valueOf('fetchLinkedAccount', answer).activation_details;
  return status === 'activated' ? 'activated' : 'waiting';
}

/** One deadline for both calls, because an operator waits for them. */
async function fetchAccount(
  client: RazorpayClient,
  timeoutMs: number,
  linkedAccountId: string,
): Promise<GatewayLinkedAccount> {
  const signal = AbortSignal.timeout(timeoutMs);
  const path = `${ACCOUNTS}/${encodeURIComponent(linkedAccountId)}`;
  const answer = await client.call({ method: 'GET', path, signal }, accountStatusSchema);
  if (answer.kind === 'refused' && DOES_NOT_EXIST.test(answer.description)) {
    throw new GatewayRefused('fetchLinkedAccount', NO_SUCH_ACCOUNT, answer.description);
  }
  const { status, created_at } = valueOf('fetchLinkedAccount', answer);
  return {
    state:
      status === 'created' ? await activationOf(client, linkedAccountId, signal) : STATES[status],
    transfersFromMs: created_at * 1000 + COOLING_PERIOD_MS,
  };
}

/** Linked accounts of Route. Razorpay accepts each email once, so a repeat creates no second account. */
export function createLinkedAccounts(
  client: RazorpayClient,
  timeoutMs: number,
): Pick<PaymentGateway, 'createLinkedAccount' | 'fetchLinkedAccount'> {
  async function isNamed(linkedAccountId: string, name: string): Promise<boolean> {
    const path = `${ACCOUNTS}/${encodeURIComponent(linkedAccountId)}`;
    const answer = await client.call({ method: 'GET', path }, accountSchema);
    const account = valueOf('createLinkedAccount', answer);
    return account.legal_business_name === name;
  }

  return {
    async createLinkedAccount({ email, name }) {
      const body = { ...SANDBOX_ACCOUNT, email, legal_business_name: name, contact_name: name };
      const call = { method: 'POST', path: ACCOUNTS, body } as const;
      const answer = await client.call(call, accountSchema);
      if (answer.kind === 'done') return { linkedAccountId: answer.value.id };
      const taken = answer.kind === 'refused' ? EMAIL_TAKEN.exec(answer.description) : null;
      const linkedAccountId = taken === null ? undefined : `acc_${taken[1]}`;
      if (linkedAccountId !== undefined && (await isNamed(linkedAccountId, name))) {
        return { linkedAccountId };
      }
      throw gatewayError('createLinkedAccount', answer);
    },
    fetchLinkedAccount: (linkedAccountId) => fetchAccount(client, timeoutMs, linkedAccountId),
  };
}
