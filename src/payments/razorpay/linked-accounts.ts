import type { LinkedAccountInput, PaymentGateway } from '../gateway.ts';
import { gatewayError, valueOf } from './client.ts';
import type { RazorpayClient } from './client.ts';
import { accountSchema } from './schemas.ts';

const ACCOUNTS = '/v2/accounts';

/** The refusal names the account that has this email (api/payments/route/create-linked-account). */
const EMAIL_TAKEN = /^Merchant email already exists for account - (?:acc_)?([A-Za-z0-9]+)/;

function accountBody(input: LinkedAccountInput) {
  const { postalCode, ...address } = input.registeredAddress;
  const registered = { ...address, postal_code: postalCode, country: 'IN' };
  const { category, subcategory } = input;
  return {
    type: 'route',
    email: input.email,
    phone: input.phone,
    legal_business_name: input.legalBusinessName,
    business_type: input.businessType,
    contact_name: input.contactName,
    profile: { category, subcategory, addresses: { registered } },
  };
}

/** Linked accounts of Route. Razorpay accepts each email once, so a repeat makes no second one. */
export function createLinkedAccounts(
  client: RazorpayClient,
): Pick<PaymentGateway, 'createLinkedAccount'> {
  async function isOurs(linkedAccountId: string, input: LinkedAccountInput): Promise<boolean> {
    const path = `${ACCOUNTS}/${encodeURIComponent(linkedAccountId)}`;
    const answer = await client.call({ method: 'GET', path }, accountSchema);
    const account = valueOf('createLinkedAccount', answer);
    return account.legal_business_name === input.legalBusinessName;
  }

  return {
    async createLinkedAccount(input) {
      const call = { method: 'POST', path: ACCOUNTS, body: accountBody(input) } as const;
      const answer = await client.call(call, accountSchema);
      if (answer.kind === 'done') return { linkedAccountId: answer.value.id };
      const taken = answer.kind === 'refused' ? EMAIL_TAKEN.exec(answer.description) : null;
      const linkedAccountId = taken === null ? undefined : `acc_${taken[1]}`;
      if (linkedAccountId !== undefined && (await isOurs(linkedAccountId, input))) {
        return { linkedAccountId };
      }
      throw gatewayError('createLinkedAccount', answer);
    },
  };
}
