import { SCENARIOS } from '../../sdk/cli/src/scenarios.ts';
import { createClient, type Order } from '../../sdk/typescript/src/index.ts';
import { readDevFacts } from '../dev-facts.ts';
import type { ReceivedEvent } from '../load/memory.ts';
import { startMerchant } from '../load/merchant.ts';
import { payAsBuyer } from './buyer.ts';

/** The demo takes at most 30 s. */
const DEMO_TIMEOUT_MS = 30_000;

/** The steps of the scenario, by the call of the client that each of them is. */
const STEPS: Readonly<Record<string, string>> = {
  create: 'The merchant creates an order of ₹499.50',
  pay: 'The buyer pays on the payment page, in the sandbox UPI app',
  deliver: 'The merchant marks it delivered',
  dispute: 'The buyer raises a dispute',
  resolve: 'The merchant resolves it',
  advance: '24 hours pass on the sandbox clock',
};

/**
 * Brings an order through the scenario of a resolved dispute over HTTP, with a new merchant and its webhook
 * receiver. Prints each step, request and webhook.
 *
 * @throws Error at the first step that is refused, or whose webhook is not the scenario's
 */
export async function runDemo(dataDir: string, print: (line: string) => void): Promise<void> {
  const signal = AbortSignal.timeout(DEMO_TIMEOUT_MS);
  const scenario = SCENARIOS.find(({ id }) => id === 'dispute-resolved');
  if (!scenario) throw new Error('The scenario of the demo is missing');
  const facts = readDevFacts(dataDir);
  const { merchantId, keys, receiver } = await startMerchant(facts, {
    actor: 'demo',
    onWebhook: ({ type, sequence, status }) =>
      print(`      ⇠ webhook ${sequence}: ${type} (${status}), signature verified`),
  });
  const client = createClient({
    environment: 'sandbox',
    ...keys,
    baseUrl: facts.apiBaseUrl,
    maxRetries: 0,
    async fetch(request) {
      const response = await fetch(request, { signal });
      print(`      ${request.method} ${new URL(request.url).pathname}: ${response.status}`);
      return response;
    },
  });
  let count = 0;
  const step: Step = async (text, act) => {
    print(`→ ${text}`);
    try {
      const order = await act();
      const next = scenario.webhooks[count++];
      const isNext = ({ type, sequence }: ReceivedEvent) => type === next && sequence === count;
      await receiver.until(order.order_number, (events) => events.some(isNext), signal);
      return order;
    } catch (error) {
      throw new Error(`${text}: not as specified: ${String(error)}`, { cause: error });
    }
  };
  const pay = async (orderNumber: string): Promise<Order> => {
    const order = await client.orders.get(orderNumber);
    await payAsBuyer(order.payment_url, signal);
    return order;
  };

  try {
    print(`Merchant ${merchantId} is approved, its webhooks go to ${receiver.url}\n`);
    await scenario.run({
      orders: inSteps(client.orders, step),
      disputes: inSteps(client.disputes, step),
      sandbox: inSteps({ ...client.sandbox, pay }, step),
    });
    print('\nEvery step was as the specification says.');
  } finally {
    receiver.stop();
  }
}

type Call = (...given: unknown[]) => Promise<Order>;
type Step = (text: string, act: () => Promise<Order>) => Promise<Order>;

/** A part of the client, whose calls are taken as steps. */
function inSteps<Part extends object>(part: Part, step: Step): Part {
  const calls = Object.entries(part as Record<string, Call>).map(([name, call]) => {
    const text = STEPS[name];
    return [name, text ? (...given: unknown[]) => step(text, () => call(...given)) : call];
  });
  return Object.fromEntries(calls) as Part;
}
