import { describe, expect } from 'vitest';
import type { GatewayExchange } from '../../src/payments/gateway/adapter.ts';
import type { PilotOptions } from '../../src/payments/gateway/gateway-pilot.ts';
import { runPilot } from '../../src/payments/gateway/gateway-pilot.ts';
import type { RecordedExchange } from '../../src/payments/gateway/gateway-record.ts';
import { recorded } from '../../src/payments/gateway/gateway-record.ts';
import { createRazorpayGateway } from '../../src/payments/razorpay/gateway.ts';
import { startReplayedGateway } from '../support/replayed-gateway.ts';
import { HANGS_MS } from '../support/time-limits.ts';
import type { Harness } from './gateway-harness.ts';
import { harnessTest, KEYS } from './gateway-harness.ts';

/** What the newest pilot was answered, as its file has it. */
const exchanges: RecordedExchange[] = [];
const onAnswer = (exchange: GatewayExchange) => void exchanges.push(recorded(exchange));

const test = harnessTest();
test.override('harnessOptions', { gateway: { onAnswer } });

/** The gateway is asked again without a wait worth naming, for as long as a test may take. */
const WAITS = {
  intervalMs: 1,
  paymentWithinMs: HANGS_MS,
  transferWithinMs: HANGS_MS,
  refundWithinMs: HANGS_MS,
};

/** The checks before the pilot's own steps. */
const CHECKS = 5;

interface PilotOf extends Partial<PilotOptions> {
  gateway?: Harness['gateway'];
  /** What the operator does once the session is open; pays it by default. */
  pay?: (gatewaySessionId: string) => Promise<unknown>;
}

async function pilot(harness: Harness, { gateway, pay = harness.pay, ...options }: PilotOf = {}) {
  const linkedAccountId = await harness.linkedAccount();
  await harness.call('PATCH', `/simulator/accounts/${linkedAccountId}`, { ageSeconds: 90_000 });
  const opened: string[] = [];
  exchanges.length = 0;
  const checks = await runPilot(gateway ?? harness.gateway, {
    linkedAccountId,
    ...WAITS,
    async onOpened({ gatewaySessionId }) {
      opened.push(gatewaySessionId);
      await pay(gatewaySessionId);
    },
    ...options,
  });
  const lines = checks.slice(CHECKS).map(({ what, found }) => `${what}: ${found}`);
  return { checks, lines, linkedAccountId, opened, last: checks.at(-1) };
}

const containing = (...texts: string[]) =>
  expect.stringMatching(new RegExp(texts.join('.*'))) as string;

test('a pilot holds, releases and refunds the INR 5 that were paid, and no other money', async ({
  harness,
}) => {
  const capturedPaise = await harness.total('capturedPaise');
  const refundedPaise = await harness.total('refundedPaise');
  const { checks, lines, linkedAccountId: account } = await pilot(harness);
  expect(checks.filter(({ isOk }) => !isOk)).toEqual([]);
  expect(lines).toEqual([
    containing('^the shortest payment session: qr_\\w+, closed again$'),
    containing('^a payment session of INR 5: qr_\\w+$'),
    containing('^its payment: pay_\\w+, names its order$'),
    `the hold for ${account}: held`,
    'the funds on hold: 500 paise held, 0 paise released, fee 0 paise',
    'the release: released',
    'the funds released: 0 paise held, 500 paise released, fee 0 paise',
    containing('^the refund: rfnd_\\w+, processed$'),
    'the list of refunds: 1 refunds',
  ]);
  expect(await harness.totals()).toMatchObject({
    capturedPaise: capturedPaise + 500,
    refundedPaise: refundedPaise + 500,
  });
});

test('a gateway that is unavailable for a while is asked again, and moves the money once', async ({
  harness,
}) => {
  const refundedPaise = await harness.total('refundedPaise');
  const transfers = '/v1/payments/*/transfers';
  const { last } = await pilot(harness, {
    async pay(gatewaySessionId) {
      await harness.fault({ kind: 'drop_answer', method: 'POST', path: transfers, count: 1 });
      await harness.fault({ kind: 'error', method: 'GET', path: transfers, count: 3 });
      await harness.fault({ kind: 'drop_answer', path: '/v1/payments/*/refund', count: 1 });
      await harness.fault({ kind: 'reset', path: '/v1/payments/*/refunds', count: 2 });
      await harness.pay(gatewaySessionId);
    },
  });
  expect(last).toMatchObject({ what: 'the list of refunds', isOk: true });
  expect(await harness.total('refundedPaise')).toBe(refundedPaise + 500);
});

test('a payment without the notes of its session is found by its session', async ({ harness }) => {
  await harness.setSwitches('all', { paymentNotes: 'none' });
  const { lines, opened, last } = await pilot(harness);
  expect(lines).toContain(`the session of that payment: ${opened[0]}`);
  expect(lines[2]).toContain('names no order');
  expect(last).toMatchObject({ what: 'the list of refunds', isOk: true });
});

test.for([
  [2, [200, 200, 200]],
  [15, [200, 400, 200, 200]],
] as const)(
  'the answers show whether sessions of two minutes are refused: the least are %i',
  async ([closeByMinutes, statuses], { harness }) => {
    await harness.setSwitches('all', { closeByMinutes });
    const { last } = await pilot(harness);
    expect(last).toMatchObject({ what: 'the list of refunds', isOk: true });
    const opening = exchanges.filter(
      ({ method, path }) => `${method} ${path}` === 'POST /v1/payments/qr_codes',
    );
    expect(opening.map(({ status }) => status)).toEqual(statuses);
  },
);

test('a payment that is captured before its session is closed counts', async ({ harness }) => {
  const gateway: Harness['gateway'] = {
    ...harness.gateway,
    async listSessionPayments(gatewaySessionId) {
      const listed = await harness.gateway.listSessionPayments(gatewaySessionId);
      await harness.pay(gatewaySessionId);
      return listed;
    },
  };
  const pay = async () => undefined;
  const { last } = await pilot(harness, { gateway, pay, paymentWithinMs: 0 });
  expect(last).toMatchObject({ what: 'the list of refunds', isOk: true });
});

test('a refund that stays pending is no failure', async ({ harness }) => {
  await harness.setSwitches('all', { refundsStartPending: true });
  const { checks, lines } = await pilot(harness, { refundWithinMs: 0 });
  expect(checks.every(({ isOk }) => isOk)).toBe(true);
  expect(lines.at(-2)).toMatch(/^the refund: rfnd_\w+, pending: it may take days$/);
});

describe('what is missing ends the pilot, and the remedy says where the money is:', () => {
  test('one of the checks, before a session is shown', async ({ harness }) => {
    await harness.setSwitches('all', { imageContent: false });
    const { checks, opened } = await pilot(harness);
    expect(checks.filter(({ isOk }) => !isOk)).toMatchObject([
      { what: 'a payment session with its UPI link' },
    ]);
    expect(opened).toEqual([]);
  });

  test('a payment, and the session is closed', async ({ harness }) => {
    const pay = async () => undefined;
    const { last, opened } = await pilot(harness, { pay, paymentWithinMs: 0 });
    expect(last).toEqual({
      what: 'its payment',
      isOk: false,
      found: 'no payment was captured, the session is closed',
      remedy: containing('Run the command again', `If ${opened[0]} was paid`),
    });
    expect(await harness.gateway.fetchSession(opened[0] ?? '')).toMatchObject({ state: 'closed' });
  });

  test('a capture of the payment', async ({ harness }) => {
    await harness.setSwitches('all', { paymentsStartAuthorized: true });
    const { last } = await pilot(harness, { paymentWithinMs: 0 });
    expect(last).toMatchObject({ isOk: false, found: containing('; pay_\\w+ is authorized$') });
  });

  test('the session of a payment without notes', async ({ harness }) => {
    await harness.setSwitches('all', { paymentNotes: 'none', unknownQuery: 'refused' });
    const gateway = { ...harness.gateway, fetchSessionOfPayment: async () => undefined };
    const { last } = await pilot(harness, { gateway });
    expect(last).toMatchObject({
      what: 'the session of that payment',
      found: 'none',
      remedy: containing("in the platform's balance: refund pay_"),
    });
  });

  test('a hold that is refused', async ({ harness }) => {
    await harness.setSwitches('all', { transfersRefused: true });
    const { last, linkedAccountId } = await pilot(harness);
    expect(last).toEqual({
      what: `the hold for ${linkedAccountId}`,
      isOk: false,
      found: containing('The linked account is closed'),
      remedy: containing("in the platform's balance", 'refund pay_\\w+ in the dashboard'),
    });
  });

  test('a transfer that fails later', async ({ harness }) => {
    await harness.setSwitches('all', { transfersStay: 'failed' });
    const { last, linkedAccountId } = await pilot(harness);
    expect(last).toMatchObject({
      what: `the hold for ${linkedAccountId}`,
      isOk: false,
      found: containing('the transfer trf_\\w+ failed'),
      remedy: containing('covers the fees', "in the platform's balance"),
    });
  });

  test('a transfer that stays pending', async ({ harness }) => {
    await harness.setSwitches('all', { transfersStay: 'pending' });
    const { last } = await pilot(harness, { transferWithinMs: 0 });
    expect(last).toMatchObject({
      isOk: false,
      found: 'pending',
      remedy: containing('reverse its transfer if there is one'),
    });
  });

  test('the release', async ({ harness }) => {
    await harness.fault({ kind: 'error', method: 'PATCH', path: '/v1/transfers/*' });
    const { last, linkedAccountId } = await pilot(harness, { transferWithinMs: 0 });
    expect(last).toMatchObject({
      what: 'the release',
      isOk: false,
      remedy: containing(`on hold for ${linkedAccountId}: refund pay_`, 'reverse its transfer'),
    });
  });

  test('the refund', async ({ harness }) => {
    await harness.setSwitches('all', { refundsRefused: true });
    const { last, linkedAccountId } = await pilot(harness);
    expect(last).toMatchObject({
      what: 'the refund',
      isOk: false,
      found: containing('not supported by the bank'),
      remedy: containing(`released to ${linkedAccountId}`, 'refund pay_\\w+ in the dashboard'),
    });
  });
});

test.for([
  ['a pilot that succeeds', {}],
  ['a payment without notes', { paymentNotes: 'empty_list', acquirerData: 'empty_list' }],
  ['a transfer that fails', { transfersStay: 'failed' }],
  ['a transfer whose status has its other name', { transferStatusField: 'transfer_status' }],
  ['a session that is too short', { closeByMinutes: 15 }],
  ['a QR code without its content', { imageContent: false }],
] as const)(
  'the recorded answers can be served again and give the same checks: %s',
  async ([, switches], { harness, onTestFinished }) => {
    await harness.setSwitches('all', switches);
    const { checks, linkedAccountId } = await pilot(harness);
    const replayed = await startReplayedGateway(exchanges);
    const gateway = createRazorpayGateway({ baseUrl: replayed.url, ...KEYS });
    onTestFinished(async () => {
      await gateway.close();
      await replayed.close();
    });
    const onOpened = () => undefined;
    expect(await runPilot(gateway, { linkedAccountId, ...WAITS, onOpened })).toEqual(checks);
    expect({ unknown: replayed.unknown, notMade: replayed.notMade() }).toEqual({
      unknown: [],
      notMade: [],
    });
  },
);
