import { setTimeout as delay } from 'node:timers/promises';
import { ulid } from 'ulid';
import { createSession, SESSION_COOKIE } from '../../../src/accounts/log-in/sessions.ts';
import { hashPassword } from '../../../src/accounts/passwords/passwords.ts';
import type { KeyPair } from '../../../src/merchants/credentials.ts';
import { createMerchantClient, exchange } from '../client.ts';
import { create, openSession, send } from '../commands.ts';
import { GATEWAY_ACTS } from '../gateway-acts.ts';
import { startMerchant, type UsedService } from '../merchant.ts';
import { newLoadOrder, readOrder, type LoadDeps } from '../order.ts';
import { simulatorAccessOf, untilDone } from '../simulator.ts';
import {
  activateMerchant,
  asTwoOperators,
  byCommand,
  byTwo,
  openProposal,
  operator,
  suspendMerchant,
} from '../operators.ts';
import {
  changeAccount,
  changeAccountAlone,
  endProposals,
  PASSWORD,
  type Scene,
} from './account-changes.ts';
import { createEndedRights, creatingAnOrder, hasSucceeded, type Use } from './ended-rights.ts';

const AMOUNT_PAISE = 49_950;
const SUSPENDED_MS = 2000;

/** What follows the payment of one order after the other. */
const AFTER_PAYMENT = [undefined, 'deliver', 'refund'] as const;
const ENDS = { deliver: 'DELIVERED', refund: 'REFUNDED' } as const;

/** Operators, and a merchant in production whose rights and linked account they change. */
export interface People {
  /** Does everything once, while orders of the merchant are paid. */
  round(): Promise<void>;
  /** Ends the use of rights that have ended. */
  end(): Promise<void>;
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
    ended: createEndedRights(memory),
    passwordHash: await hashPassword(PASSWORD),
    merchant: await startMerchant(service, options),
    orders: 0,
  };
  await changeAccount(scene);
  return {
    round: () => round(scene),
    async end() {
      await scene.ended.end();
      scene.merchant.receiver.stop();
    },
  };
}

async function round(scene: Scene): Promise<void> {
  await rotateKey(scene);
  await Promise.all([order(scene), order(scene), changeAccount(scene)]);
  await Promise.all([order(scene), order(scene), changeAccountAlone(scene)]);
  await Promise.all([order(scene), endProposals(scene), changeRole(scene), logOut(scene)]);
  await suspend(scene);
}

/** An order that is paid at the gateway. */
async function order(scene: Scene): Promise<void> {
  const { deps, merchant } = scene;
  const next = AFTER_PAYMENT[(scene.orders += 1) % AFTER_PAYMENT.length];
  const paid = newLoadOrder(deps, merchant, AMOUNT_PAISE);
  await create(paid);
  await openSession(paid);
  await GATEWAY_ACTS.pay(paid);
  // In a run with open outcomes that has not waited.
  await untilDone(async () => {
    if ((await readOrder(paid))?.status !== 'PAID') throw new Error('An order is not PAID');
  });
  if (next !== undefined) await send(paid, next);
  if (deps.outcome === 'known') paid.acknowledged.finalStatus = next ? ENDS[next] : 'PAID';
}

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
  scene.ended.use(`the secret of ${keys.apiKey} before its rotation`, creatingAnOrder(client));
}

/** The merchant is suspended, and its client continues until two operators end that. */
async function suspend(scene: Scene): Promise<void> {
  const { merchantId, client } = scene.merchant;
  const { environment } = scene.deps;
  await suspendMerchant(environment, merchantId);
  const right = `the key of ${merchantId}, which is suspended`;
  const end = scene.ended.use(right, creatingAnOrder(client));
  await delay(SUSPENDED_MS);
  await end();
  await activateMerchant(environment, merchantId);
}

/** An admin becomes a supporter and continues; the proposal to end that stays open. */
async function changeRole(scene: Scene): Promise<void> {
  const { email: subject, listOperators } = await signIn(scene);
  const change = { kind: 'operator.role', subject, reason: 'Another task' } as const;
  await byTwo(scene.deps.environment, { ...change, parameters: { role: 'support' } });
  scene.ended.use(`the session of ${subject}, who was an admin`, listOperators);
  const undecided = { ...change, parameters: { role: 'admin' } };
  await untilDone(() =>
    asTwoOperators(
      scene.deps.environment,
      async ({ deps, first }) => void (await openProposal(deps, first, undecided)),
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
  scene.ended.use(`the session of ${email}, who has logged out`, listOperators);
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
