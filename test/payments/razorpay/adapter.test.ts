import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import { GatewayRefused, GatewayUnavailable } from '../../../src/payments/gateway/gateway.ts';
import { isCaptured } from '../../../src/payments/gateway/gateway-objects.ts';
import { createRazorpayGateway } from '../../../src/payments/razorpay/gateway.ts';
import { inParallel } from '../../support/in-parallel.ts';
import type { Harness } from '../gateway-harness.ts';
import { harnessTest, KEYS } from '../gateway-harness.ts';

const test = harnessTest();

async function closesAtSeconds({ call }: Harness, session: { gatewaySessionId: string }) {
  return (await call('GET', `/v1/payments/qr_codes/${session.gatewaySessionId}`)).body.close_by;
}

describe('a payment session', () => {
  test('is a QR code with the order’s data and the time at which the gateway closes it', async ({
    harness,
  }) => {
    const expiresAtMs = Date.now() + 900_000;
    const opened = await harness.gateway.openSession({
      orderNumber: 'ORD1',
      sessionId: 'S1',
      amountPaise: 12_345,
      expiresAtMs,
      description: 'A lamp',
    });
    expect(opened.upiIntent).toMatch(/^upi:\/\/pay\?pa=.*&am=123\.45&cu=INR/);
    expect(opened.pageUrl).toBe(`${harness.simulator.url}/upi/${opened.gatewaySessionId}`);
    expect(await closesAtSeconds(harness, opened)).toBe(Math.floor(expiresAtMs / 1000));
    expect(await harness.gateway.fetchSession(opened.gatewaySessionId)).toEqual({
      gatewaySessionId: opened.gatewaySessionId,
      state: 'open',
      isPaid: false,
      orderNumber: 'ORD1',
      sessionId: 'S1',
    });
  });

  test('shorter than Razorpay allows still opens, and closes later than requested', async ({
    harness,
  }) => {
    const nowMs = Date.now();
    const opened = await harness.gateway.openSession({
      orderNumber: 'ORD2',
      sessionId: 'S2',
      amountPaise: 500,
      expiresAtMs: nowMs + 1_000,
      description: 'x'.repeat(5_000),
    });
    expect(await closesAtSeconds(harness, opened)).toBeGreaterThan(nowMs / 1000 + 120);
  });

  test('lists failed and captured payments', async ({ harness }) => {
    const { gatewaySessionId } = await harness.openSession();
    await harness.pay(gatewaySessionId, { vpa: 'failure@razorpay' });
    const paid = await harness.pay(gatewaySessionId);
    const payments = await harness.gateway.listSessionPayments(gatewaySessionId);
    expect(payments.map(({ status }) => status)).toEqual(['captured', 'failed']);
    expect(payments[1]?.failure?.code).toBe('BAD_REQUEST_ERROR');
    expect(await harness.gateway.fetchPayment(paid.body.id)).toEqual(payments[0]);
  });

  test('is in the list of sessions since a moment', async ({ harness }) => {
    const { gatewaySessionId } = await harness.openSession();
    const idsSince = async (ms: number) =>
      (await harness.gateway.listSessions(ms)).map((session) => session.gatewaySessionId);
    expect(await idsSince(Date.now() - 3_600_000)).toContain(gatewaySessionId);
    expect(await idsSince(Date.now() + 3_600_000)).toEqual([]);
  });
});

describe('closing a session', () => {
  test('returns its failed payments if it was not paid, and again if it is already closed', async ({
    harness,
  }) => {
    const { gatewaySessionId } = await harness.openSession();
    await harness.pay(gatewaySessionId, { vpa: 'failure@razorpay' });
    const failed = [{ status: 'failed' }];
    expect(await harness.gateway.closeSession(gatewaySessionId)).toMatchObject(failed);
    expect(await harness.gateway.closeSession(gatewaySessionId)).toMatchObject(failed);
  });

  test('returns the captured payment if the buyer was faster', async ({ harness }) => {
    const { gatewaySessionId } = await harness.openSession(700);
    const { body } = await harness.pay(gatewaySessionId);
    expect(await harness.gateway.closeSession(gatewaySessionId)).toMatchObject([
      { gatewayPaymentId: body.id, amountPaise: 700, status: 'captured' },
    ]);
  });

  test('and paying at the same time has one winner, in each of 200 rounds', async ({ harness }) => {
    const races = Array.from({ length: 200 }, (_, index) => index);
    const winners = { paid: 0, closed: 0 };
    await inParallel(races, 16, async (index) => {
      const { gatewaySessionId } = await harness.openSession();
      const close = () => harness.gateway.closeSession(gatewaySessionId);
      const pay = () => harness.pay(gatewaySessionId);
      const [closing, paying] =
        index % 2 === 0
          ? await Promise.all([close(), pay()])
          : await Promise.all([pay(), close()]).then(([paid, closed]) => [closed, paid] as const);
      expect(closing.some(isCaptured)).toBe(paying.status === 200);
      winners[closing.some(isCaptured) ? 'paid' : 'closed'] += 1;
    });
    expect(winners.paid + winners.closed).toBe(200);
  });

  test('is looked up if its response is lost', async ({ harness }) => {
    const { gatewaySessionId } = await harness.openSession();
    await harness.fault({ kind: 'drop_answer', path: '/v1/payments/qr_codes/*/close' });
    expect(await harness.gateway.closeSession(gatewaySessionId)).toEqual([]);
  });

  test('that fails is unavailable and changes nothing', async ({ harness }) => {
    const { gatewaySessionId } = await harness.openSession();
    await harness.fault({ kind: 'reset', path: '/v1/payments/qr_codes/*/close' });
    await expect(harness.gateway.closeSession(gatewaySessionId)).rejects.toThrow(
      GatewayUnavailable,
    );
    expect((await harness.gateway.fetchSession(gatewaySessionId)).state).toBe('open');
  });

  test('ends within its deadline, whichever of its calls is slow', async ({ harness }) => {
    const gateway = createRazorpayGateway({
      baseUrl: harness.simulator.url,
      ...KEYS,
      closeTimeoutMs: 300,
    });
    for (const path of ['/v1/payments/qr_codes/*/close', '/v1/payments/qr_codes/*/payments']) {
      const { gatewaySessionId } = await harness.openSession();
      const faultId = await harness.fault({ kind: 'late', path });
      // The fault lasts: the call ends while the gateway still does not answer.
      const closing = gateway.closeSession(gatewaySessionId);
      await expect(closing).rejects.toThrow(GatewayUnavailable);
      await harness.call('DELETE', `/simulator/faults/${faultId}`);
    }
    await gateway.close();
  });

  test('of an unknown session is refused', async ({ harness }) => {
    await expect(harness.gateway.closeSession('qr_00000000000000')).rejects.toMatchObject({
      name: 'GatewayRefused',
      code: 'BAD_REQUEST_ERROR',
      description: 'The id provided does not exist',
    });
  });
});

describe('the gateway', () => {
  test('is unavailable while it refuses connections, and available afterwards', async ({
    harness,
  }) => {
    await harness.simulator.refuseConnections();
    // The first call finds its idle connection closed, the second cannot open a new one.
    await expect(harness.openSession()).rejects.toThrow(GatewayUnavailable);
    await expect(harness.openSession()).rejects.toThrow(/openSession.*ECONNREFUSED/);
    await harness.simulator.acceptConnections();
    expect((await harness.openSession()).gatewaySessionId).toMatch(/^qr_/);
  });

  test.for([429, 500, 502, 503, 504])(
    'is unavailable if it responds %i',
    async (status, { harness }) => {
      await harness.fault({ kind: 'error', status, count: 1 });
      await expect(harness.openSession()).rejects.toThrow(GatewayUnavailable);
    },
  );

  test('is unavailable if it closes the connection', async ({ harness }) => {
    await harness.fault({ kind: 'reset', count: 1 });
    await expect(harness.openSession()).rejects.toThrow(GatewayUnavailable);
  });

  test('is unavailable if it responds after the time-out', async ({ harness }) => {
    const gateway = createRazorpayGateway({
      baseUrl: harness.simulator.url,
      ...KEYS,
      timeoutMs: 50,
    });
    await harness.fault({ kind: 'late', method: 'GET' });
    await expect(gateway.fetchPayment('pay_00000000000000')).rejects.toThrow(GatewayUnavailable);
    await gateway.close();
  });

  test('refuses wrong keys, which does not count as unavailable', async ({ harness }) => {
    const gateway = createRazorpayGateway({
      baseUrl: harness.simulator.url,
      ...KEYS,
      keySecret: 'wrong',
    });
    await expect(gateway.fetchPayment('pay_00000000000000')).rejects.toThrow(GatewayRefused);
    await gateway.close();
  });

  test('is unavailable if the response cannot be Razorpay’s', async ({ harness }) => {
    // The page of the UPI app stands for any other web server at the gateway's address.
    const { pageUrl } = await harness.openSession();
    const gateway = createRazorpayGateway({ ...KEYS, baseUrl: `${pageUrl}?` });
    await expect(gateway.fetchPayment('pay_1')).rejects.toThrow(GatewayUnavailable);
    await gateway.close();
  });
});

describe('a linked account', () => {
  test('is created once for an email, however often it is requested', async ({ harness }) => {
    const first = await harness.linkedAccount('once@example.com');
    expect(first).toMatch(/^acc_/);
    expect(await harness.linkedAccount('once@example.com')).toBe(first);
    await harness.fault({ kind: 'drop_answer', path: '/v2/accounts', count: 1 });
    await expect(harness.linkedAccount('lost@example.com')).rejects.toThrow(GatewayUnavailable);
    expect(await harness.linkedAccount('lost@example.com')).toMatch(/^acc_/);
  });

  test('of another business with the same email is not used', async ({ harness }) => {
    await harness.linkedAccount('shared@example.com');
    const other = { email: 'shared@example.com', name: 'Chair Shop' };
    await expect(harness.gateway.createLinkedAccount(other)).rejects.toThrow(GatewayRefused);
  });

  test.for([
    [{}, 'activated'],
    [{ activation: 'verification_pending' }, 'waiting'],
    [{ activation: 'verification_failed' }, 'waiting'],
    [{ activation: 'not_activated' }, 'waiting'],
    [{ status: 'activated', activation: 'not_activated' }, 'activated'],
    [{ status: 'under_review' }, 'waiting'],
    [{ status: 'needs_clarification' }, 'waiting'],
    [{ status: 'suspended' }, 'suspended'],
  ] as const)('that is %j at Razorpay is %s', async ([change, state], { harness }) => {
    const id = await harness.linkedAccount(`${randomUUID()}@example.com`);
    await harness.call('PATCH', `/simulator/accounts/${id}`, change);
    const createdAt = Number((await harness.call('GET', `/v2/accounts/${id}`)).body['created_at']);
    expect(await harness.gateway.fetchLinkedAccount(id)).toEqual({
      state,
      transfersFromMs: (createdAt + 86_400) * 1000,
    });
  });

  test('that Razorpay does not have is refused with a code of its own', async ({ harness }) => {
    const fetching = harness.gateway.fetchLinkedAccount('acc_Unknown');
    await expect(fetching).rejects.toMatchObject({
      name: 'GatewayRefused',
      code: 'NO_SUCH_ACCOUNT',
    });
  });
});
