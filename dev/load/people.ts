import { ulid } from 'ulid';
import { createSession, SESSION_COOKIE } from '../../src/accounts/log-in/sessions.ts';
import { hashPassword } from '../../src/accounts/passwords/passwords.ts';
import { totpOf } from '../../src/accounts/two-factor/second-factor.ts';
import { clearAlert } from '../../src/alerts/alerts.ts';
import type { KeyPair } from '../../src/merchants/keys/credentials.ts';
import type { Proposer } from '../../src/proposals/context.ts';
import { disableOrPropose } from '../../src/proposals/second-person.ts';
import { createMerchantClient, exchange } from './client.ts';
import { create, openSession, send } from './commands.ts';
import { creatingAnOrder, hasSucceeded, useAfterEnd, type Use } from './ended-rights.ts';
import { GATEWAY_ACTS } from './gateway-acts.ts';
import { startMerchant, type LoadMerchant, type UsedService } from './merchant.ts';
import {
  asTwoOperators,
  byCommand,
  byTwo,
  openProposal,
  operator,
  TOTP_SECRET,
} from './operators.ts';
import { newLoadOrder, readOrder, type LoadDeps } from './order.ts';
import { askSimulator, controlSimulator, simulatorAccessOf, untilDone } from './simulator.ts';

const AMOUNT_PAISE = 49_950;
const DAY_SECONDS = 86_400;
/** The password of the operators who act alone. */
const PASSWORD = 'seven green bicycles';

/** What follows the payment of one order after the other. */
const AFTER_PAYMENT = [undefined, 'deliver', 'refund'] as const;
const ENDS = { deliver: 'DELIVERED', refund: 'REFUNDED' } as const;

/** Operators, and a merchant in production whose rights and linked account they change. */
export interface People {
  /** Does everything once, while orders of the merchant are paid. */
  round(): Promise<void>;
  /** Ends the use of rights that have ended. */
  end(): void;
}

/** What the acts of people share. */
interface Scene {
  /** Of production. */
  readonly deps: LoadDeps;
  readonly apiBaseUrl: string;
  readonly over: AbortController;
  /** Of {@link PASSWORD}. */
  readonly passwordHash: string;
  /** Its merchant in production, with the present key. */
  merchant: LoadMerchant;
  /** The number of orders so far. */
  orders: number;
}

/** Starts a merchant in production, whose gateway must be a simulator, too. */
export async function startPeople(
  service: UsedService,
  { memory, outcome }: Pick<LoadDeps, 'memory' | 'outcome'>,
): Promise<People> {
  const { environment, apiBaseUrl } = service;
  const simulator = simulatorAccessOf(service, 'production');
  const options = { actor: 'people', environment: 'production', memory } as const;
  const scene: Scene = {
    deps: { simulator, environment, memory, outcome },
    apiBaseUrl,
    over: new AbortController(),
    passwordHash: await hashPassword(PASSWORD),
    merchant: await startMerchant(service, options),
    orders: 0,
  };
  await changeAccount(scene);
  return {
    async round() {
      await rotateKey(scene);
      await Promise.all([order(scene), order(scene), changeAccount(scene)]);
      await Promise.all([order(scene), order(scene), changeAccountAlone(scene)]);
      await Promise.all([order(scene), changeRole(scene), logOut(scene)]);
    },
    end() {
      scene.over.abort();
      scene.merchant.receiver.stop();
    },
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

/** Begins to use a right that has ended, until the scene ends. */
const useOn = ({ deps, over }: Scene, right: string, use: Use) =>
  void useAfterEnd(deps.memory, right, use, over.signal);

/** The merchant's secret is replaced, and a client continues with the one before. */
async function rotateKey(scene: Scene): Promise<void> {
  const { merchant, apiBaseUrl } = scene;
  const of = ['--merchant', merchant.merchantId, '--environment', 'production', '--json'];
  await untilDone(async () => {
    const printed = await byCommand(scene.deps.environment, ['key', 'rotate', ...of]);
    const { apiKey, apiSecret } = JSON.parse(printed) as KeyPair;
    const keys = { apiKey, apiSecret };
    const client = createMerchantClient(apiBaseUrl, keys, { environment: 'production' });
    scene.merchant = { ...merchant, keys, client };
  });
  const { client, keys } = merchant;
  useOn(scene, `the secret of ${keys.apiKey} before its rotation`, creatingAnOrder(client));
}

/** An admin becomes a supporter and continues; the proposal to end that stays open. */
async function changeRole(scene: Scene): Promise<void> {
  const { email: subject, listOperators } = await signIn(scene);
  const change = { kind: 'operator.role', subject, reason: 'Another task' } as const;
  await byTwo(scene.deps.environment, { ...change, parameters: { role: 'support' } });
  useOn(scene, `the session of ${subject}, who was an admin`, listOperators);
  const undecided = { ...change, parameters: { role: 'admin' } };
  await untilDone(() =>
    asTwoOperators(scene.deps.environment, ({ deps, first }) =>
      openProposal(deps, first, undecided),
    ),
  );
}

/** An admin logs out, and the browser continues. */
async function logOut(scene: Scene): Promise<void> {
  const { email, cookie, listOperators } = await signIn(scene);
  const headers = { cookie, origin: new URL(scene.apiBaseUrl).origin };
  await untilDone(async () => {
    const url = `${scene.apiBaseUrl}/dashboard/logout`;
    const { status } = await exchange(url, { method: 'POST', headers });
    if (status !== 303) throw new Error(`The answer to a log-out has the status ${status}`);
  });
  useOn(scene, `the session of ${email}, who has logged out`, listOperators);
}

/** A new admin, whose session shows the page of operators, which others may not see. */
async function signIn(scene: Scene) {
  const name = ulid();
  const { email, token } = await untilDone(() =>
    asTwoOperators(scene.deps.environment, async ({ service }) => {
      const { user } = await operator(service, name);
      const client = { address: '127.0.0.1', userAgent: 'a run' };
      return { ...user, token: await createSession(service, user.userId, client) };
    }),
  );
  const cookie = `${SESSION_COOKIE}=${token}`;
  const url = `${scene.apiBaseUrl}/operator/operators`;
  const listOperators: Use = async () =>
    hasSucceeded(await exchange(url, { method: 'GET', headers: { cookie } }));
  await untilDone(async () => {
    if ((await listOperators()) !== true) throw new Error('An admin does not see the operators');
  });
  return { email, cookie, listOperators };
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
