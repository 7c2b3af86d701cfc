import { deepEqual } from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { readDevFacts } from '../dev-facts.ts';
import type { Answer, MerchantClient } from '../load/client.ts';
import { startMerchant } from '../load/merchant.ts';
import type { Receiver } from '../load/receiver.ts';
import { payAsBuyer } from './buyer.ts';

/** The demo takes at most 30 s. */
const DEMO_TIMEOUT_MS = 30_000;
const DAY_SECONDS = 24 * 3600;

type Print = (line: string) => void;
type Call = (path: string, body?: object) => Promise<Answer>;

/**
 * Creates an order, pays it on the buyer's page, delivers, disputes, resolves and completes it over
 * HTTP, with a new merchant and its webhook receiver. Prints each step and webhook.
 *
 * @throws Error at the first step that differs from the specification
 */
export async function runDemo(dataDir: string, print: Print): Promise<void> {
  const signal = AbortSignal.timeout(DEMO_TIMEOUT_MS);
  const { merchantId, client, receiver } = await startMerchant(readDevFacts(dataDir), {
    actor: 'demo',
    onWebhook: ({ type, sequence, status }) =>
      print(`      ⇠ webhook ${sequence}: ${type} (${status}), signature verified`),
  });
  try {
    print(`Merchant ${merchantId} is approved, its webhooks go to ${receiver.url}\n`);
    await runLifecycle(client, receiver, print, signal);
    print('\nEvery step was as the specification says.');
  } finally {
    receiver.stop();
  }
}

/** One step: its description, the expected status code and order status, its webhook, its call. */
type Step = (
  text: string,
  expected: [number, string],
  event: string,
  act: () => Promise<Answer>,
) => Promise<NonNullable<Answer['data']>>;

function createStep(receiver: Receiver, print: Print, signal: AbortSignal): Step {
  let count = 0;
  return async (text, expected, event, act) => {
    print(`→ ${text}`);
    const { status, message, data } = await act();
    deepEqual([status, data?.status ?? message], expected, `${text}: not as specified`);
    if (data === null) throw new Error(`${text}: ${message}`);
    print(`      ${status} ${data.status}`);
    count += 1;
    const number = count;
    await receiver.until(
      data.order_number,
      (events) => events.some(({ type, sequence }) => type === event && sequence === number),
      signal,
    );
    return data;
  };
}

/** The order's answer once it is in a status. */
async function untilStatus(
  client: MerchantClient,
  path: string,
  wanted: string,
  signal: AbortSignal,
): Promise<Answer> {
  for (;;) {
    // The rate limit may refuse a poll; the next one succeeds.
    const answer = await client.send({ method: 'GET', path });
    if (answer.data?.status === wanted) return answer;
    await delay(250, undefined, { signal });
  }
}

async function runLifecycle(
  client: MerchantClient,
  receiver: Receiver,
  print: Print,
  signal: AbortSignal,
): Promise<void> {
  const step = createStep(receiver, print, signal);
  const post: Call = (path, body = {}) => client.send({ method: 'POST', path, body });
  const created = await step(
    'The merchant creates an order of ₹499.50',
    [201, 'ACCEPTED'],
    'ORDER_CREATED',
    () =>
      post('/orders', {
        amount: 499.5,
        buyerEmail: 'ravi@example.com',
        buyerPhone: '+919876543210',
        buyerName: 'Ravi',
        description: 'Blue kurta, size M',
      }),
  );
  const order = `/orders/${created.order_number}`;
  const helper = `/test-helpers${order}`;

  await step(
    'The buyer pays on the payment page, in the sandbox UPI app',
    [200, 'PAID'],
    'PAYMENT_SUCCESS',
    async () => {
      await payAsBuyer(created.payment_url, signal);
      return untilStatus(client, order, 'PAID', signal);
    },
  );
  await step('The merchant marks it delivered', [200, 'DELIVERED'], 'DELIVERY_CONFIRMED', () =>
    post(`${order}/deliver`, { trackingId: 'DTDC-1' }),
  );
  await step('The buyer raises a dispute', [200, 'DISPUTE_OPEN'], 'DISPUTE_RAISED', () =>
    post(`${helper}/dispute`, { reason: 'The kurta has the wrong size' }),
  );
  await step('The merchant resolves it', [200, 'DELIVERED'], 'DISPUTE_RESOLVED', () =>
    post(`${order}/dispute/resolve`, { resolution: 'Sent in the right size' }),
  );
  await step(
    '24 hours pass on the sandbox clock',
    [200, 'COMPLETED'],
    'ORDER_COMPLETED',
    async () => {
      const advanced = await post(`${helper}/advance`, { seconds: DAY_SECONDS });
      return advanced.status === 200 ? untilStatus(client, order, 'COMPLETED', signal) : advanced;
    },
  );
}
