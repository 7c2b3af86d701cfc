import { ulid } from 'ulid';
import { hashPassword } from '../../src/accounts/passwords/passwords.ts';
import { totpOf } from '../../src/accounts/two-factor/second-factor.ts';
import { clearAlert } from '../../src/alerts/alerts.ts';
import type { Proposer } from '../../src/proposals/context.ts';
import { disableOrPropose } from '../../src/proposals/second-person.ts';
import { create, openSession, send } from './commands.ts';
import { GATEWAY_ACTS } from './gateway-acts.ts';
import { startMerchant, type LoadMerchant, type UsedService } from './merchant.ts';
import { asTwoOperators, byCommand, byTwo, operator, TOTP_SECRET } from './operators.ts';
import { newLoadOrder, readOrder, type LoadDeps } from './order.ts';
import { askSimulator, controlSimulator, simulatorAccessOf, untilDone } from './simulator.ts';

const AMOUNT_PAISE = 49_950;
const DAY_SECONDS = 86_400;
/** The password of the operators who act alone. */
const PASSWORD = 'seven green bicycles';

/** What follows the payment of one order after the other. */
const AFTER_PAYMENT = [undefined, 'deliver', 'refund'] as const;
const ENDS = { deliver: 'DELIVERED', refund: 'REFUNDED' } as const;

/** What the acts of people share. */
interface Scene {
  /** Of production. */
  readonly deps: LoadDeps;
  /** Of {@link PASSWORD}. */
  readonly passwordHash: string;
  /** Its merchant in production. */
  readonly merchant: LoadMerchant;
  /** The number of orders so far. */
  orders: number;
}

/**
 * Starts a merchant in production, whose gateway must be a simulator, too.
 *
 * @returns a round: operators change the linked account of the merchant, while orders are paid
 */
export async function startPeople(
  service: UsedService,
  { memory, outcome }: Pick<LoadDeps, 'memory' | 'outcome'>,
): Promise<() => Promise<void>> {
  const { environment } = service;
  const simulator = simulatorAccessOf(service, 'production');
  const options = { actor: 'people', environment: 'production', memory } as const;
  const scene: Scene = {
    deps: { simulator, environment, memory, outcome },
    passwordHash: await hashPassword(PASSWORD),
    merchant: await startMerchant(service, options),
    orders: 0,
  };
  // Without a webhook URL it gets nothing.
  scene.merchant.receiver.stop();
  await changeAccount(scene);
  return async () => {
    await Promise.all([order(scene), order(scene), changeAccount(scene)]);
    await Promise.all([order(scene), order(scene), order(scene), changeAccountAlone(scene)]);
  };
}

/** An order that is paid at the gateway. */
async function order(scene: Scene): Promise<void> {
  const { deps, merchant } = scene;
  const next = AFTER_PAYMENT[(scene.orders += 1) % AFTER_PAYMENT.length];
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

/** Makes a linked account at the simulator that receives transfers. @returns its id */
async function newAccount({ deps: { simulator } }: Scene): Promise<string> {
  const { id } = await untilDone(() =>
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
  await controlSimulator(simulator, 'PATCH', `/accounts/${id}`, { ageSeconds: DAY_SECONDS });
  return id;
}

/** Gives the merchant another linked account, as two operators do. */
async function changeAccount(scene: Scene): Promise<void> {
  await byTwo(scene.deps.environment, {
    kind: 'merchant.linkedAccount',
    subject: scene.merchant.merchantId,
    parameters: { linkedAccountId: await newAccount(scene) },
    reason: 'The merchant has another bank account',
  });
}

/** The same, as one operator does alone in an emergency, who is disabled afterwards. */
async function changeAccountAlone(scene: Scene): Promise<void> {
  const { environment } = scene.deps;
  const of = ['--merchant', scene.merchant.merchantId, '--linked-account', await newAccount(scene)];
  await untilDone(async () => {
    // Another one at each try: a code of the second factor is accepted once.
    const name = ulid();
    const { user } = await asTwoOperators(environment, ({ service }) =>
      operator(service, name, scene.passwordHash),
    );
    const alone = ['--as', user.email, '--break-glass', '--reason', `Nobody else is there ${name}`];
    const typed = [PASSWORD, totpOf(TOTP_SECRET, user.email).generate()];
    await byCommand(environment, ['merchant', 'approve', ...of, ...alone], typed);
    await untilDone(() => endEmergency(scene, user));
  });
}

/** Another operator disables the one who has acted alone, and clears the alert. */
const endEmergency = ({ deps, merchant: { merchantId } }: Scene, user: Proposer['user']) =>
  asTwoOperators(deps.environment, async ({ deps: of, first }) => {
    const [note, by] = ['The act is understood', first.actor.name];
    await clearAlert(of.sql, 'break_glass_used', merchantId, note, by);
    const active = await of.sql`
      SELECT FROM users WHERE user_id = ${user.userId} AND disabled_at IS NULL`;
    const disabled = { ...user, reason: 'The emergency is over' };
    if (active.length > 0) await disableOrPropose(of, first, disabled);
  });
