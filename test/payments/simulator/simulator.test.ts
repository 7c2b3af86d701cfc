import { describe, expect } from 'vitest';
import { z } from 'zod';
import type { Harness, Json } from '../gateway-harness.ts';
import { createCaller, harnessTest, itemsOf, KEYS, startHarness } from '../gateway-harness.ts';

const test = harnessTest();

const unixSeconds = () => Math.floor(Date.now() / 1000);
const qrCodeInput = (change: object = {}) => ({
  type: 'upi_qr',
  usage: 'single_use',
  fixed_amount: true,
  payment_amount: 300,
  description: 'For Store 1',
  close_by: unixSeconds() + 900,
  notes: { purpose: 'Test UPI QR Code notes' },
  ...change,
});
const openQrCode = async (harness: Harness) => (await harness.openSession()).gatewaySessionId;

function descriptionOf({ body }: { body: Json }): unknown {
  return z.object({ description: z.string() }).parse(body['error']).description;
}

describe('a QR code', () => {
  test('has the fields that Razorpay documents', async ({ harness }) => {
    const { status, body } = await harness.call('POST', '/v1/payments/qr_codes', qrCodeInput());
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: expect.stringMatching(/^qr_[A-Za-z0-9]{14}$/),
      entity: 'qr_code',
      usage: 'single_use',
      type: 'upi_qr',
      payment_amount: 300,
      status: 'active',
      fixed_amount: true,
      payments_amount_received: 0,
      payments_count_received: 0,
      notes: { purpose: 'Test UPI QR Code notes' },
      closed_at: null,
      close_reason: null,
    });
    expect(body['image_content']).toMatch(/^upi:\/\/pay\?pa=.*&tn=For%20Store%201&am=3\.00&cu=INR/);
  });

  test.for([
    [{ payment_amount: undefined }, 'The payment_amount field is required.'],
    [{ type: 'abc' }, 'The selected type is invalid.'],
    [{ colour: 'red' }, 'colour is/are not required and should not be sent'],
    [{ close_by: 0 }, 'The selected close_by is invalid.'],
    [
      { close_by: Math.floor(Date.now() / 1000) + 60 },
      'close_by should be at least 2 minutes after the current time',
    ],
    [{ notes: { long: 'x'.repeat(257) } }, 'The selected notes.long is invalid.'],
  ] as const)('is refused with %o', async ([change, description], { harness }) => {
    const answer = await harness.call('POST', '/v1/payments/qr_codes', qrCodeInput(change));
    expect(answer.status).toBe(400);
    expect(answer.body['error']).toMatchObject({ code: 'BAD_REQUEST_ERROR', description });
  });

  test('expires after at most 2 hours', async ({ harness }) => {
    for (const close_by of [undefined, unixSeconds() + 90_000]) {
      const input = qrCodeInput({ close_by });
      const { body } = await harness.call('POST', '/v1/payments/qr_codes', input);
      expect(body['close_by']).toBe(Number(body['created_at']) + 7200);
    }
  });

  test('that is closed accepts a late payment if configured, and stays closed', async ({
    harness,
  }) => {
    const id = await openQrCode(harness);
    await harness.call('POST', `/v1/payments/qr_codes/${id}/close`);
    const late = await harness.pay(id, { late: true, amountPaise: 9_900 });
    expect(late.body).toMatchObject({ status: 'captured', amount: 9_900 });
    const { body } = await harness.call('GET', `/v1/payments/qr_codes/${id}`);
    expect(body).toMatchObject({ close_reason: 'on_demand', payments_count_received: 1 });
  });

  test('expires at its closing time', async ({ harness }) => {
    const id = await openQrCode(harness);
    await harness.call('POST', '/simulator/clock', { advanceSeconds: 901 });
    expect(descriptionOf(await harness.pay(id))).toBe('The QR Code is closed');
    const { body } = await harness.call('GET', `/v1/payments/qr_codes/${id}`);
    expect(body).toMatchObject({ status: 'closed', close_reason: null });
    expect((await harness.openSession()).gatewaySessionId).toMatch(/^qr_/);
  });
});

describe('money', () => {
  test('is not refunded with an idempotency key of another form than the documented', async ({
    harness,
  }) => {
    const path = `/v1/payments/${await harness.capture()}/refund`;
    for (const key of ['too short', 'ten/or more?']) {
      const wrong = await harness.call('POST', path, {}, { 'x-refund-idempotency': key });
      expect(descriptionOf(wrong)).toContain('The idempotency key must');
    }
  });

  test('is not refunded after 6 months', async ({ harness }) => {
    const paymentId = await harness.capture();
    await harness.call('POST', '/simulator/clock', { advanceSeconds: 181 * 24 * 3600 });
    const answer = await harness.call('POST', `/v1/payments/${paymentId}/refund`);
    expect(descriptionOf(answer)).toContain('more than 6 months old');
  });

  test('is transferred after the response, at most the captured amount, and never after a refund', async ({
    harness,
  }) => {
    const account = await harness.linkedAccount();
    const paymentId = await harness.capture();
    const path = `/v1/payments/${paymentId}/transfers`;
    const transfer = (amount: number) => ({
      transfers: [{ account, amount, currency: 'INR', on_hold: true }],
    });
    const { body } = await harness.call('POST', path, transfer(9_000));
    expect(body['items']).toMatchObject([{ status: 'pending', on_hold: true }]);
    const listed = await harness.call('GET', path);
    expect(listed.body['items']).toMatchObject([
      { status: 'processed', settlement_status: 'on_hold', recipient: account },
    ]);
    expect((await harness.call('POST', path, transfer(1_001))).status).toBe(400);
    await harness.call('POST', `/v1/payments/${paymentId}/refund`, { amount: 100 });
    expect(descriptionOf(await harness.call('POST', path, transfer(100)))).toContain('refund');
  });

  test('that the platform does not hold is not refunded without reversing the transfer', async () => {
    const alone = await startHarness();
    const account = await alone.linkedAccount();
    const paymentId = await alone.capture();
    await alone.gateway.holdFunds(alone.transferInput(paymentId, account));
    const path = `/v1/payments/${paymentId}/refund`;
    expect(descriptionOf(await alone.call('POST', path))).toContain('not have enough balance');
    expect((await alone.call('POST', path, { reverse_all: true })).status).toBe(200);
    expect(await alone.totals()).toMatchObject({
      heldPaise: 0,
      platformPaise: 0,
      isBalanced: true,
    });
    await alone.close();
  });
});

describe('the API', () => {
  test.for(['/v1/payments/pay_1', '/v2/accounts/acc_1', '/simulator/totals'])(
    'responds 401 at %s without the right key',
    async (path, { harness }) => {
      for (const authorization of ['', 'Basic bm86bm8=', `Basic ${btoa(`${KEYS.keyId}:x`)}`]) {
        const caller = createCaller(harness.simulator.url);
        const { status } = await caller('GET', path, undefined, { authorization });
        expect(status).toBe(401);
      }
    },
  );

  test.for([
    ['GET', '/Simulator/totals'],
    ['GET', '/simulator/totals/'],
    ['GET', '/SIMULATOR/callbacks'],
    ['POST', '/Simulator/clock'],
    ['GET', '/V1/payments/qr_codes'],
    ['POST', '/V1/payments/{payment}/refund'],
    ['POST', '/v1/Payments/{payment}/refund'],
    ['POST', '/v1/payments/{payment}/refund/'],
    ['POST', '/%76%31/payments/{payment}/refund'],
    ['POST', '//v1/payments/{payment}/refund'],
    ['POST', '/V2/accounts'],
  ] as const)(
    'has no other spelling of a path that needs no key: %s %s',
    async ([method, spelling], { harness }) => {
      const payment = await harness.capture();
      const path = spelling.replace('{payment}', payment);
      const stranger = createCaller(harness.simulator.url);
      const { status } = await stranger(method, path, method === 'POST' ? {} : undefined, {
        authorization: '',
      });
      expect([401, 404]).toContain(status);
      expect(await harness.made(payment, 'refunds')).toEqual([]);
    },
  );

  test.for([
    [{ 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' }, 403],
    [{ 'Sec-Fetch-Site': 'same-site', Origin: 'null' }, 403],
    [{ Origin: 'https://evil.example' }, 403],
    [{ Origin: 'http://127.0.0.1:1' }, 403],
    [{ 'Sec-Fetch-Site': 'same-origin' }, 200],
    [{ 'Sec-Fetch-Site': 'none' }, 200],
    [{}, 200],
  ] as const)(
    'refuses requests from the page of another site, also with the key: %o',
    async ([headers, status], { harness }) => {
      const id = await openQrCode(harness);
      const form = {
        ...headers,
        authorization: `Basic ${btoa(`${KEYS.keyId}:${KEYS.keySecret}`)}`,
        'content-type': 'application/x-www-form-urlencoded',
      };
      const send = async (path: string, body: string) => {
        const url = harness.simulator.url + path;
        return (await fetch(url, { method: 'POST', headers: form, body, redirect: 'manual' }))
          .status;
      };
      expect(await send(`/simulator/qr_codes/${id}/expire`, '')).toBe(status);
      const payment = await harness.capture();
      expect(await send(`/v1/payments/${payment}/refund`, '')).toBe(status);
      expect(await send(`/upi/${await openQrCode(harness)}`, 'action=pay')).toBe(
        status === 200 ? 303 : 403,
      );
      expect(await harness.made(payment, 'refunds')).toHaveLength(status === 200 ? 1 : 0);
    },
  );

  test('returns lists in pages, newest first', async ({ harness }) => {
    const ids = [await openQrCode(harness), await openQrCode(harness), await openQrCode(harness)];
    const page = await harness.call('GET', '/v1/payments/qr_codes?count=2&skip=1');
    expect(page.body).toMatchObject({ entity: 'collection', count: 2 });
    expect(itemsOf(page.body).map(({ id }) => id)).toEqual([ids[1], ids[0]]);
    expect((await harness.call('GET', '/v1/payments/qr_codes?count=101')).status).toBe(400);
  });

  test('responds to an unknown path with its own error format', async ({ harness }) => {
    expect((await harness.call('GET', '/v1/orders')).status).toBe(404);
    const unknown = await harness.call('GET', '/v1/payments/pay_00000000000000');
    expect(descriptionOf(unknown)).toBe('The id provided does not exist');
  });
});
