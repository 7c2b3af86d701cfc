import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KEYS, startHarness, startReceiver } from '../gateway-harness.ts';
import type { Harness } from '../gateway-harness.ts';

type Receiver = Awaited<ReturnType<typeof startReceiver>>;
let receiver: Receiver;
let harness: Harness;
beforeEach(async () => {
  receiver = await startReceiver();
  harness = await startHarness({ simulator: { callbackUrl: receiver.url } });
});
afterEach(async () => {
  await harness.close();
  await receiver.close();
});

function received(name: string) {
  const callback = receiver.received.find((candidate) => candidate.name === name);
  if (callback === undefined) throw new Error(`no ${name} among ${receiver.names().join(', ')}`);
  return callback;
}

function parse(name: string) {
  const { rawBody, headers } = received(name);
  return harness.gateway.parseCallback(rawBody, headers);
}

function signed(text: string | Buffer, secret = KEYS.webhookSecret) {
  const rawBody = Buffer.from(text);
  const signature = createHmac('sha256', secret).update(rawBody).digest('hex');
  return [rawBody, { 'x-razorpay-signature': signature }] as const;
}

describe('a callback', () => {
  test('of a payment has its id and its session, for either event', async () => {
    const { gatewaySessionId } = await harness.openSession(4_200);
    const { body } = await harness.pay(gatewaySessionId);
    await harness.simulator.callbacksIdle();
    expect(parse('qr_code.credited')).toMatchObject({
      verified: true,
      event: {
        type: 'payment',
        name: 'qr_code.credited',
        eventId: received('qr_code.credited').eventId,
        gatewaySessionId,
        payment: { gatewayPaymentId: body.id, amountPaise: 4_200, status: 'captured' },
      },
    });
    const session = await harness.gateway.fetchSession(gatewaySessionId);
    expect(parse('payment.captured')).toMatchObject({
      event: {
        type: 'payment',
        gatewaySessionId: null,
        payment: { orderNumber: session.orderNumber, sessionId: session.sessionId },
      },
    });
  });

  test('of a failed payment has the reason', async () => {
    const { gatewaySessionId } = await harness.openSession();
    await harness.pay(gatewaySessionId, { vpa: 'failure@razorpay' });
    await harness.simulator.callbacksIdle();
    expect(parse('payment.failed')).toMatchObject({
      event: {
        type: 'payment',
        payment: { status: 'failed', failure: { code: 'BAD_REQUEST_ERROR' } },
      },
    });
  });

  test('of a closed session has its id', async () => {
    const { gatewaySessionId } = await harness.openSession();
    await harness.gateway.closeSession(gatewaySessionId);
    await harness.simulator.callbacksIdle();
    expect(parse('qr_code.closed')).toMatchObject({
      event: { type: 'session_closed', gatewaySessionId },
    });
  });

  test('of a refund has its result', async () => {
    await harness.setSwitches('all', { refundsStartPending: true });
    for (const status of ['processed', 'failed']) {
      const paymentId = await harness.capture();
      const refund = await harness.gateway.refund(harness.refundInput(paymentId));
      const end = `/simulator/refunds/${refund.reversalId}/end`;
      await harness.call('POST', end, { status });
      await harness.simulator.callbacksIdle();
      expect(parse(`refund.${status}`)).toMatchObject({
        event: {
          type: 'refund_or_chargeback',
          found: { kind: 'refund', gatewayPaymentId: paymentId, state: status },
        },
      });
    }
  });

  test('of another event is verified and ignored', () => {
    const text = '{"entity":"event","event":"invoice.paid","contains":[],"payload":{}}';
    expect(harness.gateway.parseCallback(...signed(text))).toMatchObject({
      verified: true,
      event: { type: 'ignored', name: 'invoice.paid' },
    });
  });
});

async function credited() {
  await harness.capture();
  await harness.simulator.callbacksIdle();
  return received('qr_code.credited');
}

describe('a callback that cannot be used', () => {
  test.each(['', 'zz', 'f'.repeat(63), 'g'.repeat(64), 'f'.repeat(64), 'f'.repeat(128)])(
    'is not verified with the signature "%s"',
    async (signature) => {
      const { rawBody } = await credited();
      const headers = { 'x-razorpay-signature': signature };
      expect(harness.gateway.parseCallback(rawBody, headers)).toEqual({ verified: false });
    },
  );

  test.each([
    ['no JSON', 'not json'],
    ['no event', '{"entity":"event"}'],
    ['a payment without its amount', paymentEvent({ amount: undefined })],
    ['a payment of a fraction of a paisa', paymentEvent({ amount: 10.5 })],
    ['bytes that are no text', Buffer.from([0x22, 0xff, 0x22])],
  ])('is verified and has no event when it is signed but holds %s', (_name, text) => {
    const malformed = { verified: true, event: null, eventId: '' };
    expect(harness.gateway.parseCallback(...signed(text))).toEqual(malformed);
  });
});

function paymentEvent(change: object): string {
  const entity = {
    id: 'pay_1',
    entity: 'payment',
    amount: 100,
    currency: 'INR',
    status: 'captured',
    notes: [],
    ...change,
  };
  const payload = { payment: { entity } };
  return JSON.stringify({ entity: 'event', event: 'payment.captured', payload });
}
