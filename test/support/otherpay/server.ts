import { createHmac, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A payment that is requested from a buyer. */
export interface Intent {
  id: string;
  order: string;
  session: string;
  paise: number;
  expiresAtMs: number;
  createdAtMs: number;
  open: boolean;
}
/** A payment by a buyer. */
export interface Charge {
  id: string;
  intent: string;
  order: string;
  session: string;
  paise: number;
  refundedPaise: number;
  atMs: number;
}
/** A refund. */
export interface Refund {
  id: string;
  charge: string;
  paise: number;
  key: string;
  atMs: number;
}
/** A transfer to a merchant's account, on hold or not. */
export interface Payout {
  id: string;
  charge: string;
  account: string;
  paise: number;
  key: string;
  held: boolean;
}

/** The secrets that authenticate its callers and its callbacks. */
export interface OtherpayOptions {
  token: string;
  callbackKey: string;
}

class Refusal extends Error {}

const newId = () => randomUUID().toUpperCase();

/** The state of the gateway and its operations. */
function createState() {
  const intents = new Map<string, Intent>();
  const charges = new Map<string, Charge>();
  const refunds: Refund[] = [];
  const payouts: Payout[] = [];
  const accounts = new Map<string, { id: string; email: string; name: string }>();
  const found = <Item>(items: Map<string, Item>, id: string): Item => {
    const item = items.get(id);
    if (!item) throw new Refusal(`There is no ${id}`);
    return item;
  };
  const chargesOf = (intent: string) =>
    [...charges.values()].filter((charge) => charge.intent === intent);

  return {
    refunds,
    payouts,
    accounts,
    open(asked: Pick<Intent, 'order' | 'session' | 'paise' | 'expiresAtMs'>): Intent {
      const intent = { ...asked, id: newId(), createdAtMs: Date.now(), open: true };
      intents.set(intent.id, intent);
      return intent;
    },
    /** @param late pays after the close, as banks may do @param id of the charge */
    pay(intentId: string, { late = false, id = newId() } = {}): Charge {
      const intent = found(intents, intentId);
      if (!intent.open && !late) throw new Refusal('The intent is closed');
      intent.open = false;
      const { order, session, paise } = intent;
      const paid = { intent: intentId, order, session, paise, refundedPaise: 0 };
      const charge = { id, ...paid, atMs: Date.now() };
      charges.set(charge.id, charge);
      return charge;
    },
    cancel(intentId: string): Charge | null {
      found(intents, intentId).open = false;
      return chargesOf(intentId)[0] ?? null;
    },
    intent: (id: string) => found(intents, id),
    intentsSince: (ms: number) =>
      [...intents.values()].filter(({ createdAtMs }) => createdAtMs >= ms),
    charge: (id: string) => found(charges, id),
    chargesOf,
    refund(chargeId: string, { paise, key }: Pick<Refund, 'paise' | 'key'>): Refund {
      const known = refunds.find((refund) => refund.key === key);
      if (known) return known;
      const charge = found(charges, chargeId);
      if (charge.refundedPaise + paise > charge.paise) throw new Refusal('It is not so much');
      charge.refundedPaise += paise;
      for (const payout of payouts) if (payout.charge === chargeId) payout.paise = 0;
      const refund = { id: newId(), charge: chargeId, paise, key, atMs: Date.now() };
      refunds.push(refund);
      return refund;
    },
    payOut(chargeId: string, asked: Pick<Payout, 'paise' | 'account' | 'key' | 'held'>): Payout {
      const known = payouts.find((payout) => payout.key === asked.key);
      if (known) return Object.assign(known, { held: known.held && asked.held });
      if (found(charges, chargeId).paise < asked.paise) throw new Refusal('It is not so much');
      const payout = { ...asked, id: newId(), charge: chargeId };
      payouts.push(payout);
      return payout;
    },
    takeBack(chargeId: string): Payout[] {
      const held = payouts.filter((payout) => payout.charge === chargeId && payout.held);
      for (const payout of held) payout.paise = 0;
      return held;
    },
    account({ email, name }: { email: string; name: string }) {
      const account = accounts.get(email) ?? { id: newId(), email, name };
      accounts.set(email, account);
      return account;
    },
  };
}

/** `t=<Unix milliseconds>,mac=<base64>`: HMAC-SHA512 of the time, a full stop and the body. */
export function signCallback(key: string, body: string | Uint8Array, atMs: number): string {
  const mac = createHmac('sha512', key).update(`${atMs}.`).update(body).digest('base64');
  return `t=${atMs},mac=${mac}`;
}

/** The gateway of the adapter in this folder, on a separate port. */
export async function startOtherpay({ token, callbackKey }: OtherpayOptions) {
  const state = createState();
  let callbackUrl: string | null = null;

  async function callBack(charge: Charge): Promise<void> {
    if (callbackUrl === null) return;
    const body = JSON.stringify({ id: newId(), type: 'charge.paid', charge });
    const signature = signCallback(callbackKey, body, Date.now());
    const headers = { 'content-type': 'application/json', 'otherpay-signature': signature };
    const response = await fetch(callbackUrl, { method: 'POST', headers, body });
    if (!response.ok) throw new Error(`The callback was answered ${response.status}`);
  }

  async function pay(intentId: string, how?: { late?: boolean; id?: string }): Promise<Charge> {
    const charge = state.pay(intentId, how);
    await callBack(charge);
    return charge;
  }

  async function answer(request: IncomingMessage): Promise<unknown> {
    if (request.headers['x-otherpay-token'] !== token) throw new Refusal('The token is wrong');
    const url = new URL(request.url ?? '/', 'http://localhost');
    const [, what = '', id = '', part = ''] = url.pathname.split('/');
    const body = await bodyOf(request);
    switch (`${request.method} ${what}${id && '/id'}${part && `/${part}`}`) {
      case 'POST intents':
        return state.open(body);
      case 'GET intents':
        return state.intentsSince(Number(url.searchParams.get('since')));
      case 'GET intents/id':
        return state.intent(id);
      case 'GET intents/id/charges':
        return state.chargesOf(id);
      case 'POST intents/id/cancel':
        return state.cancel(id);
      case 'POST intents/id/pay':
        return pay(id);
      case 'GET charges/id':
        return state.charge(id);
      case 'GET charges/id/refunds':
        return state.refunds.filter(({ charge }) => charge === id);
      case 'POST charges/id/refunds':
        return state.refund(id, body);
      case 'GET charges/id/payouts':
        return state.payouts.filter(({ charge }) => charge === id);
      case 'POST charges/id/payouts':
        return state.payOut(id, body);
      case 'POST charges/id/takeback':
        return state.takeBack(id);
      case 'POST accounts':
        return state.account(body);
      default:
        throw new Refusal(`There is no ${request.method} ${url.pathname}`);
    }
  }

  const server = createServer((request, response) => {
    answer(request).then(
      (value) => response.end(JSON.stringify(value)),
      (error: unknown) => {
        response.statusCode = error instanceof Refusal ? 400 : 500;
        response.end(String(error));
      },
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The buyer pays; returns once the callback, if there is one, has been accepted. */
    pay,
    refunds: state.refunds,
    payouts: state.payouts,
    accounts: state.accounts,
    /** Sets the callback URL; null, as at the beginning, sends no callbacks. */
    callBackTo(url: string | null): void {
      callbackUrl = url;
    },
    async stop(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
export type Otherpay = Awaited<ReturnType<typeof startOtherpay>>;

/** Any body that the adapter sends; this project contains both sides. */
// oxlint-disable-next-line typescript/no-explicit-any -- the routes above define the body of each request
async function bodyOf(request: IncomingMessage): Promise<any> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString('utf8'));
}
