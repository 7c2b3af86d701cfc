import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { expect, test as base } from 'vitest';
import { z } from 'zod';
import { createGatewaySimulator } from '../../dev/gateway-simulator/simulator.ts';
import type { GatewaySimulatorOptions } from '../../dev/gateway-simulator/simulator.ts';
import { GatewayUnavailable, moneyKey } from '../../src/payments/gateway/gateway.ts';
import { createRazorpayGateway } from '../../src/payments/razorpay/gateway.ts';
import type { RazorpayGatewayOptions } from '../../src/payments/razorpay/gateway.ts';
import type { OnCleanup } from '../support/fixtures.ts';
import { once as oncePerFile } from '../support/fixtures.ts';
import { UNTIL_MS } from '../support/time-limits.ts';

export const KEYS = {
  keyId: 'rzp_test_harness',
  keySecret: 'harness-secret',
  webhookSecret: 'harness-webhook-secret',
};

export interface Received {
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
  name: string;
  eventId: string;
}

/** An endpoint for callbacks that records the raw requests and responds with `statuses`. */
export async function startReceiver(statuses: number[] = []) {
  const received: Received[] = [];
  const server = createServer(async (message, response) => {
    const rawBody = await buffer(message);
    const { event } = z.object({ event: z.string() }).parse(JSON.parse(rawBody.toString()));
    const eventId = String(message.headers['x-razorpay-event-id']);
    received.push({ headers: message.headers, rawBody, name: event, eventId });
    response.writeHead(statuses.shift() ?? 200).end();
    server.emit('received');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/callbacks`,
    received,
    names: () => received.map(({ name }) => name),
    /** Resolves once this many callbacks have arrived. */
    async until(count: number) {
      while (received.length < count) await once(server, 'received');
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const authorization = `Basic ${btoa(`${KEYS.keyId}:${KEYS.keySecret}`)}`;

/** Any response; without an id it gets an empty one, so that tests need not check. */
const anyAnswer = z.looseObject({ id: z.string().default('') });
export type Json = z.output<typeof anyAnswer>;

export function itemsOf({ items }: Json): Json[] {
  return z.array(z.looseObject({ id: z.string() })).parse(items);
}

/** The names of the switches that are set, by subject. */
const switchesBySubject = z.record(z.string(), z.looseObject({}).transform(Object.keys));

/** Calls the simulator's API and control routes without the adapter. */
export function createCaller(baseUrl: string) {
  return async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const response = await fetch(baseUrl + path, {
      method,
      headers: { authorization, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: anyAnswer.parse(await response.json()) };
  };
}

interface HarnessOptions {
  simulator?: Partial<GatewaySimulatorOptions>;
  gateway?: Partial<RazorpayGatewayOptions>;
}

let sessionNumber = 0;

/** A simulator on a free port, the real adapter for it, and the buyer's actions. */
export async function startHarness({ simulator: own, gateway: ownGateway }: HarnessOptions = {}) {
  const simulator = await createGatewaySimulator({
    port: 0,
    ...KEYS,
    callbackRetryDelaysMs: [1, 1],
    ...own,
  });
  const gateway = createRazorpayGateway({
    baseUrl: simulator.url,
    ...KEYS,
    timeoutMs: UNTIL_MS,
    closeTimeoutMs: UNTIL_MS,
    ...ownGateway,
  });
  const call = createCaller(simulator.url);

  async function openSession(amountPaise = 10_000) {
    sessionNumber += 1;
    return gateway.openSession({
      orderNumber: `ORD-${sessionNumber}`,
      sessionId: `session-${sessionNumber}`,
      amountPaise,
      expiresAtMs: Date.now() + 900_000,
      description: 'Two <b>lamps</b> & a table',
    });
  }
  const pay = (gatewaySessionId: string, attempt: object = {}) =>
    call('POST', `/simulator/qr_codes/${gatewaySessionId}/pay`, attempt);

  return {
    simulator,
    gateway,
    call,
    openSession,
    pay,
    async capture(amountPaise = 10_000) {
      const { gatewaySessionId } = await openSession(amountPaise);
      const { body } = await pay(gatewaySessionId);
      return body.id;
    },
    refundInput: (gatewayPaymentId: string, amountPaise = 10_000) => ({
      gatewayPaymentId,
      amountPaise,
      idempotencyKey: moneyKey(gatewayPaymentId, 'refund'),
      mayBeTransferred: false,
      beforeMoving: async () => undefined,
      reason: 'dispute',
    }),
    transferInput: (gatewayPaymentId: string, linkedAccountId: string, amountPaise = 10_000) => ({
      gatewayPaymentId,
      amountPaise,
      linkedAccountId,
      idempotencyKey: moneyKey(gatewayPaymentId, 'transfer'),
      knownFailures: 0,
      beforeMoving: async () => undefined,
    }),
    async linkedAccount(email = 'shop@example.com') {
      const { linkedAccountId } = await gateway.createLinkedAccount({ email, name: 'Lamp Shop' });
      return linkedAccountId;
    },
    /** The gateway's list of the refunds or transfers of a payment, newest first. */
    async made(gatewayPaymentId: string, what: 'refunds' | 'transfers') {
      const { body } = await call('GET', `/v1/payments/${gatewayPaymentId}/${what}`);
      return itemsOf(body);
    },
    fault: async (spec: object) => (await call('POST', '/simulator/faults', spec)).body.id,
    clearFaults: () => call('DELETE', '/simulator/faults'),
    /** Sets switches of a payment, a linked account, a QR code or `all`. */
    setSwitches: (subject: string, switches: object) =>
      call('PATCH', `/simulator/switches/${subject}`, switches),
    async clearSwitches() {
      const { body } = await call('GET', '/simulator/switches');
      for (const [subject, names] of Object.entries(switchesBySubject.parse(body['switches']))) {
        const removal = Object.fromEntries(names.map((name) => [name, null]));
        await call('PATCH', `/simulator/switches/${subject}`, removal);
      }
    },
    totals: async () => (await call('GET', '/simulator/totals')).body,
    total: async (name: string) => Number((await call('GET', '/simulator/totals')).body[name]),
    async close() {
      await gateway.close();
      await simulator.close();
    },
  };
}
export type Harness = Awaited<ReturnType<typeof startHarness>>;

/**
 * The `test` of a file whose tests need only the gateway. The faults and switches of a test end with it,
 * and after the last test the money at the gateway must add up.
 */
export function harnessTest() {
  const start = oncePerFile(async (options: HarnessOptions, onCleanup: OnCleanup) => {
    const harness = await startHarness(options);
    onCleanup(() => harness.close());
    return harness;
  });
  const options: HarnessOptions = {};
  const test = base
    .extend('harnessOptions', { scope: 'file' }, options)
    .extend('harness', { scope: 'file' }, ({ harnessOptions }, { onCleanup }) =>
      start(harnessOptions, onCleanup),
    );
  test.afterEach(async ({ harness }) => {
    await harness.clearFaults();
    await harness.clearSwitches();
  });
  test.afterAll(async ({ harness }) => {
    expect(await harness.totals()).toMatchObject({ isBalanced: true });
  });
  return test;
}

/** Repeats a call until the gateway is available, as an activity does. */
export async function untilDone<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GatewayUnavailable) return untilDone(work);
    throw error;
  }
}
