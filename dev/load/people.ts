import { ulid } from 'ulid';
import { create, openSession, send } from './commands.ts';
import { GATEWAY_ACTS } from './gateway-acts.ts';
import { startMerchant, type LoadMerchant, type UsedService } from './merchant.ts';
import { byTwo } from './operators.ts';
import { newLoadOrder, readOrder, type LoadDeps } from './order.ts';
import { askSimulator, controlSimulator, simulatorAccessOf, untilDone } from './simulator.ts';

const AMOUNT_PAISE = 49_950;
const DAY_SECONDS = 86_400;

/** What follows the payment of each order. */
const AFTER_PAYMENT = [undefined, 'deliver', 'refund'] as const;
const ENDS = { deliver: 'DELIVERED', refund: 'REFUNDED' } as const;

/**
 * Starts a merchant in production, whose gateway must be a simulator, too.
 *
 * @returns a round: operators change the linked account of the merchant twice, while orders are paid
 */
export async function startPeople(
  service: UsedService,
  { memory, outcome }: Pick<LoadDeps, 'memory' | 'outcome'>,
): Promise<() => Promise<void>> {
  const { environment } = service;
  const simulator = simulatorAccessOf(service, 'production');
  const deps = { simulator, environment, memory, outcome };
  const merchant = await startMerchant(service, { actor: 'people', environment: 'production' });
  // Without a webhook URL it gets nothing.
  merchant.receiver.stop();
  await changeAccount(deps, merchant);
  const orders = () => Promise.all(AFTER_PAYMENT.map((next) => order(deps, merchant, next)));
  return async () => {
    await Promise.all([orders(), changeAccount(deps, merchant)]);
    await Promise.all([orders(), changeAccount(deps, merchant)]);
  };
}

/** An order that is paid at the gateway. */
async function order(
  deps: LoadDeps,
  merchant: LoadMerchant,
  next: (typeof AFTER_PAYMENT)[number],
): Promise<void> {
  const paid = newLoadOrder(deps, merchant, AMOUNT_PAISE);
  await create(paid);
  await openSession(paid);
  await GATEWAY_ACTS.payAtGateway(paid);
  // In a run with open outcomes that has not waited.
  await untilDone(async () => {
    if ((await readOrder(paid))?.status !== 'PAID') throw new Error('An order is not PAID');
  });
  if (next !== undefined) await send(paid, next);
  if (deps.outcome === 'known') paid.acknowledged.finalStatus = next ? ENDS[next] : 'PAID';
}

/** Gives the merchant another linked account that receives transfers, as two operators do. */
async function changeAccount(
  { simulator, environment }: LoadDeps,
  { merchantId: subject }: LoadMerchant,
): Promise<void> {
  const { id: linkedAccountId } = await untilDone(() =>
    askSimulator<{ id: string }>(simulator, 'POST', '/v2/accounts', {
      type: 'route',
      email: `${ulid().toLowerCase()}@example.com`,
      phone: '9876543210',
      legal_business_name: 'Asha Textiles',
      business_type: 'individual',
      contact_name: 'Asha Rao',
      profile: { category: 'ecommerce', subcategory: 'fashion_and_lifestyle' },
    }),
  );
  const age = { ageSeconds: DAY_SECONDS };
  await controlSimulator(simulator, 'PATCH', `/accounts/${linkedAccountId}`, age);
  const reason = 'The merchant has another bank account';
  const parameters = { linkedAccountId };
  await byTwo(environment, { kind: 'merchant.linkedAccount', subject, parameters, reason });
}
