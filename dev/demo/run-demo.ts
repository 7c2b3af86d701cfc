import { deepEqual } from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { DevFacts } from '../dev-facts.ts';
import { readDevFacts } from '../dev-facts.ts';
import type { KeyPair } from '../../src/merchants/credentials.ts';
import { payAsBuyer } from './buyer.ts';
import { registerMerchant } from './merchant.ts';
import type { Receiver } from './receiver.ts';
import { startReceiver } from './receiver.ts';

/** The demo takes at most 30 s. */
const DEMO_TIMEOUT_MS = 30_000;
const DAY_SECONDS = 24 * 3600;

type Print = (line: string) => void;
interface ApiResult {
  status: number;
  data: { order_number: string; status: string; dispute_count: number; payment_url: string };
}
/** The fields of a refused call, which returns no order: its message takes the place of the status. */
const NO_ORDER = { order_number: '', dispute_count: 0, payment_url: '' };
type Call = (method: 'GET' | 'POST', path: string, body?: object) => Promise<ApiResult>;

/**
 * Creates an order, pays it on the buyer's page, delivers, disputes, resolves and completes it over
 * HTTP, with a new merchant and its webhook receiver. Prints each step and webhook.
 *
 * @throws Error at the first step that differs from the specification
 */
export async function runDemo(dataDir: string, print: Print): Promise<void> {
  const facts = readDevFacts(dataDir);
  const signal = AbortSignal.timeout(DEMO_TIMEOUT_MS);
  const receiver = await startReceiver(({ event, sequence, status }) => {
    print(`      ⇠ webhook ${sequence}: ${event} (${status}), signature verified`);
  });
  try {
    const { environment } = facts;
    const { merchantId, keys, webhookSecret } = await registerMerchant(
      environment,
      receiver.url,
      'demo',
    );
    receiver.useSecret(webhookSecret);
    print(`Merchant ${merchantId} is approved, its webhooks go to ${receiver.url}\n`);
    await runLifecycle(createCall(facts, keys, signal), receiver, print, signal);
    print('\nEvery step was as the specification says.');
  } finally {
    receiver.close();
  }
}

function createCall(facts: DevFacts, keys: KeyPair, signal: AbortSignal): Call {
  return async (method, path, body) => {
    const response = await fetch(`${facts.apiBaseUrl}${facts.sandboxBasePath}${path}`, {
      method,
      signal,
      headers: {
        'X-API-Key': keys.apiKey,
        'X-API-Secret': keys.apiSecret,
        ...(body && { 'Content-Type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const { data, message } = (await response.json()) as {
      data: ApiResult['data'] | null;
      message: string;
    };
    return { status: response.status, data: data ?? { ...NO_ORDER, status: message } };
  };
}

/** One step: its description, the expected status code and order status, its webhook, its call. */
type Step = (
  text: string,
  expected: [number, string],
  event: string,
  act: () => Promise<ApiResult>,
) => Promise<ApiResult['data']>;

function createStep(receiver: Receiver, print: Print, signal: AbortSignal): Step {
  let sequence = 0;
  return async (text, expected, event, act) => {
    print(`→ ${text}`);
    const { status, data } = await act();
    deepEqual([status, data.status], expected, `${text}: not as specified`);
    print(`      ${status} ${data.status}`);
    sequence += 1;
    await receiver.waitFor(event, sequence, signal);
    return data;
  };
}

async function waitForStatus(call: Call, order: string, wanted: string): Promise<ApiResult> {
  for (;;) {
    const answer = await call('GET', order);
    // The rate limit may refuse a poll; the next one succeeds.
    if (answer.status === 200 && answer.data.status === wanted) return answer;
    await delay(250);
  }
}

async function runLifecycle(
  call: Call,
  receiver: Receiver,
  print: Print,
  signal: AbortSignal,
): Promise<void> {
  const step = createStep(receiver, print, signal);
  const created = await step(
    'The merchant creates an order of ₹499.50',
    [201, 'ACCEPTED'],
    'ORDER_CREATED',
    () =>
      call('POST', '/orders', {
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
      return waitForStatus(call, order, 'PAID');
    },
  );
  await step('The merchant marks it delivered', [200, 'DELIVERED'], 'DELIVERY_CONFIRMED', () =>
    call('POST', `${order}/deliver`, { trackingId: 'DTDC-1' }),
  );
  await step('The buyer raises a dispute', [200, 'DISPUTE_OPEN'], 'DISPUTE_RAISED', () =>
    call('POST', `${helper}/dispute`, { reason: 'The kurta has the wrong size' }),
  );
  await step('The merchant resolves it', [200, 'DELIVERED'], 'DISPUTE_RESOLVED', () =>
    call('POST', `${order}/dispute/resolve`, { resolution: 'Sent in the right size' }),
  );
  await step(
    '24 hours pass on the sandbox clock',
    [200, 'COMPLETED'],
    'ORDER_COMPLETED',
    async () => {
      const advanced = await call('POST', `${helper}/advance`, { seconds: DAY_SECONDS });
      return advanced.status === 200 ? waitForStatus(call, order, 'COMPLETED') : advanced;
    },
  );
}
