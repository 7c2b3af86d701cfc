import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { z } from 'zod';
import { until } from '../../support/until.ts';
import type { Harness, Json } from '../gateway-harness.ts';
import { harnessTest, itemsOf, startHarness, startReceiver } from '../gateway-harness.ts';

const test = harnessTest();

const DOCUMENT = new URL('../../../docs/running-locally.md', import.meta.url);
const DAY_SECONDS = 24 * 3600;

const openQrCode = async (harness: Harness) => (await harness.openSession()).gatewaySessionId;

function descriptionOf({ body }: { body: Json }): unknown {
  return z.object({ description: z.string() }).parse(body['error']).description;
}

/** A part of a payment for a linked account, as a request of the API. */
const transfer = (harness: Harness, paymentId: string, account: string, amount = 1_000) =>
  harness.call('POST', `/v1/payments/${paymentId}/transfers`, {
    transfers: [{ account, amount, currency: 'INR', on_hold: true }],
  });
const refund = (harness: Harness, paymentId: string, headers: Record<string, string> = {}) =>
  harness.call('POST', `/v1/payments/${paymentId}/refund`, { amount: 100 }, headers);
const advance = (harness: Harness, advanceSeconds: number) =>
  harness.call('POST', '/simulator/clock', { advanceSeconds });

async function firstTransfer(harness: Harness, paymentId: string): Promise<Json> {
  const [first] = await harness.made(paymentId, 'transfers');
  if (first === undefined) throw new Error(`no transfer of ${paymentId}`);
  return first;
}

/** The payments that the callbacks of a payment show, by event. */
async function inCallbacks(harness: Harness, paymentId: string): Promise<unknown> {
  const { body } = await harness.call('GET', '/simulator/callbacks');
  const events = z.array(z.object({ name: z.string(), body: z.string() })).parse(body['events']);
  return events
    .filter((event) => event.body.includes(paymentId))
    .map((event) => [event.name, JSON.parse(event.body).payload.payment.entity]);
}

describe('a switch', () => {
  test('of a payment wins over its account, its QR code and all', async ({ harness }) => {
    const qrCodeId = await openQrCode(harness);
    const paymentId = (await harness.pay(qrCodeId)).body.id;
    const account = await harness.linkedAccount();
    await transfer(harness, paymentId, account);
    const statuses = [];
    for (const [subject, refundsStartPending] of [
      ['all', true],
      [qrCodeId, false],
      [account, true],
      [paymentId, false],
      [paymentId, null],
    ] as const) {
      await harness.setSwitches(subject, { refundsStartPending });
      statuses.push((await refund(harness, paymentId)).body['status']);
    }
    expect(statuses).toEqual(['pending', 'processed', 'pending', 'processed', 'pending']);
  });

  test('is set beside others, listed, and removed by null', async ({ harness }) => {
    const qrCodeId = await openQrCode(harness);
    await harness.setSwitches(qrCodeId, { fees: true });
    const { body } = await harness.setSwitches(qrCodeId, { imageContent: false });
    expect(body).toMatchObject({ fees: true, imageContent: false });
    const listed = await harness.call('GET', '/simulator/switches');
    expect(listed.body['switches']).toEqual({ [qrCodeId]: { fees: true, imageContent: false } });
    const removed = await harness.setSwitches(qrCodeId, { fees: null, imageContent: null });
    expect(removed.body).not.toHaveProperty('fees');
  });

  test.for([
    ['pay_00000000000000', { fees: true }, 'The id provided does not exist'],
    ['all', { colour: 'red' }, 'colour is/are not required and should not be sent'],
    ['all', { transfersStay: 'away' }, 'The selected transfersStay is invalid.'],
    ['all', { closeByMinutes: 3 }, 'The selected closeByMinutes is invalid.'],
  ] as const)('of %s is refused: %o', async ([subject, change, description], { harness }) => {
    const answer = await harness.setSwitches(subject, change);
    expect([answer.status, descriptionOf(answer)]).toEqual([400, description]);
  });

  test('is refused where it has no effect', async ({ harness }) => {
    const paymentId = await harness.capture();
    const answer = await harness.setSwitches(paymentId, { closeByMinutes: 15 });
    expect(descriptionOf(answer)).toBe(`closeByMinutes has no effect on ${paymentId} alone`);
  });

  test('is still set after a restart', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'gateway-switches-'));
    const simulator = { dataFile: join(directory, 'journal') };
    const first = await startHarness({ simulator });
    const paymentId = await first.capture();
    await first.setSwitches(paymentId, { refundsStartPending: true });
    await first.setSwitches('all', { fees: true, settlements: 't_plus_2' });
    await first.setSwitches('all', { fees: null });
    const set = await first.call('GET', '/simulator/switches');
    await first.close();
    const second = await startHarness({ simulator });
    expect(await second.call('GET', '/simulator/switches')).toEqual(set);
    expect((await refund(second, paymentId)).body['status']).toBe('pending');
    await second.close();
    rmSync(directory, { recursive: true });
  });
});

test('the document names every switch, its default first', async ({ harness }) => {
  const { body } = await harness.call('GET', '/simulator/switches');
  const [, table = ''] = readFileSync(DOCUMENT, 'utf8').split('| Switch |');
  const rows = table.split('\n\n', 1)[0]!.matchAll(/^\| `(\w+)`[^|]*\| ([^,]+),/gm);
  const documented = Object.fromEntries([...rows].map(([, name, value]) => [name, value]));
  const defaults = Object.entries(z.looseObject({}).parse(body['defaults']));
  expect(documented).toEqual(
    Object.fromEntries(defaults.map(([name, value]) => [name, String(value)])),
  );
});

describe('refunds', () => {
  test('honourIdempotencyKeys: false ignores the keys', async ({ harness }) => {
    const paymentId = await harness.capture();
    await harness.setSwitches(paymentId, { honourIdempotencyKeys: false });
    const headers = { 'x-refund-idempotency': `${paymentId}-key` };
    const ids = [
      await refund(harness, paymentId, headers),
      await refund(harness, paymentId, headers),
    ];
    expect(new Set(ids.map(({ body }) => body.id)).size).toBe(2);
  });

  test('refundsInProgress: the first requests with a key are 409', async ({ harness }) => {
    const paymentId = await harness.capture();
    await harness.setSwitches(paymentId, { refundsInProgress: 2 });
    expect((await refund(harness, paymentId)).status).toBe(200);
    const headers = { 'x-refund-idempotency': `${paymentId}-key` };
    const answers = [];
    for (let count = 0; count < 4; count += 1) {
      answers.push(await refund(harness, paymentId, headers));
    }
    expect(answers.map(({ status }) => status)).toEqual([409, 409, 200, 200]);
    expect(descriptionOf(answers[0]!)).toContain('is still in progress');
    expect(await harness.made(paymentId, 'refunds')).toHaveLength(2);
  });
});

describe('transfers', () => {
  test('are processed when they are fetched, without an error', async ({ harness }) => {
    const paymentId = await harness.capture();
    await transfer(harness, paymentId, await harness.linkedAccount());
    const none = { code: null, description: null, field: null, source: null };
    expect(await firstTransfer(harness, paymentId)).toMatchObject({
      status: 'processed',
      fees: 0,
      tax: 0,
      error: { ...none, step: null, reason: null },
    });
  });

  test('transferStatusField: the name of the entity’s page', async ({ harness }) => {
    const paymentId = await harness.capture();
    await harness.setSwitches(paymentId, { transferStatusField: 'transfer_status' });
    await transfer(harness, paymentId, await harness.linkedAccount());
    const shown = await firstTransfer(harness, paymentId);
    expect(shown).toMatchObject({ transfer_status: 'processed' });
    expect(shown).not.toHaveProperty('status');
  });

  test('newAccountsWait: only accounts activated a day ago receive them', async ({ harness }) => {
    const paymentId = await harness.capture();
    const account = await harness.linkedAccount('new@example.com');
    await harness.setSwitches(account, { newAccountsWait: true });
    const change = (body: object) => harness.call('PATCH', `/simulator/accounts/${account}`, body);
    const isRefused = async () => descriptionOf(await transfer(harness, paymentId, account));
    await change({ activation: 'verification_pending' });
    expect(await isRefused()).toContain('whose status is verification_pending');
    await change({ activation: 'activated' });
    expect(await isRefused()).toContain('24 hours');
    await change({ ageSeconds: DAY_SECONDS });
    expect((await transfer(harness, paymentId, account)).status).toBe(200);
    expect((await change({ status: 'suspended' })).body['status']).toBe('suspended');
    expect(await isRefused()).toContain('suspended');
    await harness.setSwitches(account, { newAccountsWait: false });
    expect((await transfer(harness, paymentId, account)).status).toBe(200);
  });
});

describe('fees', () => {
  test('refuse or fail a transfer that the platform’s balance does not cover', async () => {
    const alone = await startHarness();
    await alone.setSwitches('all', { fees: true });
    const paymentId = await alone.capture();
    const account = await alone.linkedAccount();
    const transferAll = () => transfer(alone, paymentId, account, 10_000);
    const add = (amountPaise: number) => alone.call('POST', '/simulator/balance', { amountPaise });
    expect(descriptionOf(await transferAll())).toContain('insufficient balance');
    expect((await add(236)).body).toMatchObject({ platformPaise: 10_000 });
    await transferAll();
    expect(await firstTransfer(alone, paymentId)).toMatchObject({
      status: 'failed',
      error: { reason: 'transfer_amount_higher_than_balance' },
    });
    await add(30);
    await transferAll();
    expect((await firstTransfer(alone, paymentId))['status']).toBe('processed');
    expect(await alone.totals()).toMatchObject({
      addedPaise: 266,
      feesPaise: 266,
      platformPaise: 0,
      isBalanced: true,
    });
    await alone.close();
  });
});

describe('payments', () => {
  test.for([
    ['paymentNotes', 'none', { notes: {} }],
    ['paymentNotes', 'empty_list', { notes: [] }],
    ['acquirerData', 'empty_list', { acquirer_data: [] }],
  ] as const)('%s: %s', async ([name, value, shown], { harness }) => {
    const qrCodeId = await openQrCode(harness);
    await harness.setSwitches(qrCodeId, { [name]: value });
    const { body } = await harness.pay(qrCodeId);
    expect(body).toMatchObject(shown);
    const list = await harness.call('GET', `/v1/payments/qr_codes/${qrCodeId}/payments`);
    expect(list.body['items']).toEqual([body]);
    expect(await inCallbacks(harness, body.id)).toEqual([
      ['payment.captured', body],
      ['qr_code.credited', body],
    ]);
  });

  test('paymentsStartAuthorized: they are refunded without a capture', async ({ harness }) => {
    const qrCodeId = await openQrCode(harness);
    await harness.setSwitches('all', { paymentsStartAuthorized: true });
    const { body } = await harness.pay(qrCodeId);
    await harness.call('POST', `/simulator/payments/${body.id}/void`);
    const { body: payment } = await harness.call('GET', `/v1/payments/${body.id}`);
    expect(payment).toMatchObject({ status: 'refunded', captured: false, amount_refunded: 10_000 });
    expect((await harness.call('POST', `/simulator/payments/${body.id}/capture`)).status).toBe(400);
    expect(await harness.made(body.id, 'refunds')).toEqual([]);
  });
});

describe('lists', () => {
  test('unknownQuery: refused parameters are those that the documents do not name', async ({
    harness,
  }) => {
    const paymentId = await harness.capture();
    const paths = [
      `/v1/payments/${paymentId}?colour=red`,
      `/v1/payments/${paymentId}/transfers?count=100&skip=0`,
      `/v1/payments/${paymentId}/refunds?count=100&skip=0`,
    ];
    const answers = () => Promise.all(paths.map((path) => harness.call('GET', path)));
    expect((await answers()).map(({ status }) => status)).toEqual([200, 200, 200]);
    await harness.setSwitches(paymentId, { unknownQuery: 'refused' });
    const refused = await answers();
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 200]);
    expect(descriptionOf(refused[1]!)).toBe(
      'count, skip is/are not required and should not be sent',
    );
    expect((await harness.call('GET', '/v1/disputes?colour=red')).status).toBe(200);
    await harness.setSwitches('all', { unknownQuery: 'refused' });
    expect((await harness.call('GET', '/v1/disputes?colour=red')).status).toBe(400);
    const documented = '/v1/payments/qr_codes?count=100&skip=0&from=1';
    expect((await harness.call('GET', documented)).status).toBe(200);
  });

  test('of transfers have no pages', async ({ harness }) => {
    const paymentId = await harness.capture();
    const account = await harness.linkedAccount();
    for (let count = 0; count < 11; count += 1) await transfer(harness, paymentId, account, 100);
    expect(await harness.made(paymentId, 'transfers')).toHaveLength(11);
  });

  test('listsLag: they have a new object later than its own path', async ({ harness }) => {
    await harness.setSwitches('all', { listsLag: true });
    const isListed = async (id: string) => {
      const { body } = await harness.call('GET', '/v1/payments/qr_codes');
      return itemsOf(body).some((item) => item.id === id);
    };
    let id = '';
    // On a busy machine one may be listed at once, because a second has passed.
    await until(async () => {
      id = await openQrCode(harness);
      return !(await isListed(id));
    });
    expect((await harness.call('GET', `/v1/payments/qr_codes/${id}`)).status).toBe(200);
    await advance(harness, 2);
    expect(await isListed(id)).toBe(true);
  });
});

describe('callbacks', () => {
  test('disableCallbacks: none is sent after one has failed, until they are enabled', async () => {
    const statuses: number[] = [];
    const receiver = await startReceiver(statuses);
    const harness = await startHarness({ simulator: { callbackUrl: receiver.url } });
    const qrCodeId = await openQrCode(harness);
    await harness.simulator.callbacksIdle();
    await harness.setSwitches('all', { disableCallbacks: true });
    statuses.push(500, 500, 500);
    await harness.pay(qrCodeId, { vpa: 'failure@razorpay' });
    await harness.simulator.callbacksIdle();
    await harness.pay(qrCodeId);
    await harness.simulator.callbacksIdle();
    const failed = ['payment.failed', 'payment.failed', 'payment.failed'];
    expect(receiver.names()).toEqual(['qr_code.created', ...failed]);
    const { body } = await harness.call('GET', '/simulator/callbacks');
    expect(body).toMatchObject({ isDisabled: true });
    const states = z.array(z.object({ state: z.string() })).parse(body['events']);
    expect(states.map(({ state }) => state)).toEqual(['accepted', 'failed', 'dropped', 'dropped']);
    await harness.call('POST', '/simulator/callbacks/enable');
    await openQrCode(harness);
    await harness.simulator.callbacksIdle();
    expect(receiver.names()).toEqual(['qr_code.created', ...failed, 'qr_code.created']);
    await harness.close();
    await receiver.close();
  });
});
