import { runAdmin } from '../../src/main/admin/run.ts';
import type { KeyPair } from '../../src/merchants/credentials.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { askSimulator, controlSimulator, type SimulatorAccess } from '../load/simulator.ts';
import type { Canaries } from './canary.ts';
import type { CanaryClient } from './client.ts';

/** What the lifecycles of orders need. */
export interface LifecycleDeps {
  readonly canaries: Canaries;
  readonly client: CanaryClient;
  readonly simulator: SimulatorAccess;
  /** The settings of the operators' command line. */
  readonly environment: Readonly<Record<string, string>>;
}

const DAY_SECONDS = 24 * 3600;

/** The calls on one order. */
interface Calls {
  readonly order: Order;
  readonly token: string;
  post(operation: string, body?: object): Promise<Order | undefined>;
  help(operation: string, body?: object): Promise<Order | undefined>;
  text(place: string): string;
}

type Lifecycle = (calls: Calls, deps: LifecycleDeps, keys: KeyPair) => Promise<unknown>;

const delivered = async ({ post, help, text }: Calls) => {
  await help('pay');
  await post('deliver', { trackingId: text('tracking id'), note: text('delivery note') });
};

/** The lifecycles, which orders take in turn. */
const LIFECYCLES: readonly Lifecycle[] = [
  async ({ post, text }) => post('cancel', { reason: text('cancel reason') }),
  async (calls) => {
    await delivered(calls);
    await calls.help('advance', { seconds: DAY_SECONDS });
  },
  async ({ post, help, text }) => {
    await help('pay');
    await help('dispute', { reason: text('dispute reason') });
    await post('dispute/evidence', { text: text('evidence') });
    await post('dispute/resolve', { resolution: text('resolution') });
  },
  async (calls, { client }) => {
    const { post, token, text } = calls;
    await delivered(calls);
    const form = { reason: `It never came: ${text("buyer's dispute reason")}` };
    await client.send(`/pay/${token}/dispute`, { form });
    await post('dispute/accept');
  },
  async ({ post, help, text }) => {
    await help('pay');
    await post('refund', { reason: text('refund reason') });
  },
  async ({ help, token, text, order }, { client, simulator, canaries }, keys) => {
    await help('fail-payment');
    await client.send(`/pay/${token}/sessions`, { form: { again: text('unknown form field') } });
    await client.api(keys, `/orders/${order.order_number}/payment-sessions`, { method: 'POST' });
    await payAll(simulator, order.order_number, canaries);
  },
  async ({ order }, { client, canaries }, keys) => {
    await client.api(keys, `/orders?buyerEmail=${encodeURIComponent(order.buyer.email)}`);
    await client.api(keys, `/orders?buyerEmail=${canaries.word('query string')}`);
    await client.api(keys, `/orders/${order.order_number}/timeline`);
    await client.api(keys, `/orders/${order.order_number}?note=${canaries.word('query string')}`);
  },
  async ({ order, help, post, text }, { environment }) => {
    await help('pay');
    await help('dispute', { reason: text('dispute reason') });
    await post('dispute/evidence', { text: text('evidence') });
    const reason = text('reason of a decision');
    const decide = ['--order', order.order_number, '--for', 'buyer', '--reason', reason, '--yes'];
    await runAdmin(['dispute', 'decide', ...decide], () => environment);
  },
];

interface Codes {
  readonly items: readonly { id: string; status: string; notes: Record<string, string> }[];
}

/** Pays the open QR codes of an order from an address with a canary; not while the gateway fails. */
async function payAll(
  simulator: SimulatorAccess,
  orderNumber: string,
  canaries: Canaries,
): Promise<void> {
  const path = '/v1/payments/qr_codes?count=100';
  const { items } = await askSimulator<Codes>(simulator, 'GET', path).catch(() => ({ items: [] }));
  for (const { id } of items.filter(({ notes }) => notes['order_number'] === orderNumber)) {
    const vpa = `${canaries.word('UPI address')}@upi`;
    await controlSimulator(simulator, 'POST', `/qr_codes/${id}/pay`, { vpa });
  }
}

/** Creates an order with canaries in each of its texts, and brings it to the end of its lifecycle. */
export async function liveThrough(
  deps: LifecycleDeps,
  keys: KeyPair,
  index: number,
): Promise<string | undefined> {
  const { canaries, client } = deps;
  const body = {
    amount: 100 + index,
    buyerEmail: canaries.email('buyer e-mail'),
    buyerPhone: canaries.phone('buyer phone'),
    buyerName: canaries.word('buyer name'),
    description: `Kurta "${canaries.word('description')}" for ${canaries.word('description')}`,
    unknownField: canaries.word('unknown field'),
  };
  const order = await client.api(keys, '/orders', { body });
  if (!order) return undefined;
  const token = new URL(order.payment_url).pathname.split('/').at(-1) ?? '';
  canaries.add('payment token', token);
  await client.send(`/pay/${token}`);
  const path = `/orders/${order.order_number}`;
  const calls: Calls = {
    order,
    token,
    post: (operation, more = {}) => client.api(keys, `${path}/${operation}`, { body: more }),
    help: (operation, more = {}) =>
      client.api(keys, `/test-helpers${path}/${operation}`, { body: more }),
    text: (place) => `${canaries.word(place)} & "more"`,
  };
  await LIFECYCLES[index % LIFECYCLES.length]?.(calls, deps, keys);
  return order.order_number;
}
