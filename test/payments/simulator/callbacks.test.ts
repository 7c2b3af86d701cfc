import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { KEYS, startHarness, startReceiver } from '../gateway-harness.ts';
import type { Harness } from '../gateway-harness.ts';

type Receiver = Awaited<ReturnType<typeof startReceiver>>;
let receiver: Receiver;
let harness: Harness;
/** The receiver's response to each call; 200 after the end of the list. */
let statuses: number[];
/** A QR code whose `qr_code.created` was received. */
let qrCodeId: string;
beforeEach(async () => {
  statuses = [];
  receiver = await startReceiver(statuses);
  harness = await startHarness({ simulator: { callbackUrl: receiver.url, seed: 7 } });
  qrCodeId = (await harness.openSession()).gatewaySessionId;
  await harness.simulator.callbacksIdle();
  receiver.received.length = 0;
});
afterEach(async () => {
  await harness.close();
  await receiver.close();
});

const payload = z.object({
  payload: z.record(z.string(), z.object({ entity: z.object({ status: z.string() }) })),
});

const settings = (change: object) => harness.call('PATCH', '/simulator/callbacks', change);
const release = (order: string) => harness.call('POST', '/simulator/callbacks/release', { order });

/** The events after the one of the QR code's creation. */
async function events() {
  const { body } = await harness.call('GET', '/simulator/callbacks');
  const all = z.array(z.looseObject({ id: z.string(), state: z.string() })).parse(body['events']);
  return all.slice(1);
}

/** A failed payment, which makes exactly one event. */
const oneEvent = () => harness.pay(qrCodeId, { vpa: 'failure@razorpay' });

/** What becomes of the events of 100 failed payments, one after the other. */
async function hundredStates() {
  await harness.call('POST', '/simulator/seed', { seed: 99 });
  const before = (await events()).length;
  for (let count = 0; count < 100; count += 1) await oneEvent();
  await harness.simulator.callbacksIdle();
  return (await events()).slice(before).map(({ state }) => state);
}

describe('callbacks', () => {
  test('are signed over the sent bytes', async () => {
    await harness.pay(qrCodeId);
    await harness.simulator.callbacksIdle();
    expect(receiver.names().toSorted()).toEqual(['payment.captured', 'qr_code.credited']);
    for (const { headers, rawBody } of receiver.received) {
      const signature = createHmac('sha256', KEYS.webhookSecret).update(rawBody).digest('hex');
      expect(headers['x-razorpay-signature']).toBe(signature);
      expect(headers['content-type']).toBe('application/json');
    }
  });

  test('are repeated after any status but a 2xx, with the same id and bytes', async () => {
    statuses.push(500, 302);
    await oneEvent();
    await harness.simulator.callbacksIdle();
    expect(receiver.received).toHaveLength(3);
    expect(new Set(receiver.received.map(({ eventId }) => eventId)).size).toBe(1);
    expect(new Set(receiver.received.map(({ rawBody }) => rawBody.toString())).size).toBe(1);
    expect(await events()).toMatchObject([{ state: 'accepted', attempts: 3 }]);
  });

  test('are abandoned after the last attempt, and can be sent again by a control route', async () => {
    statuses.push(500, 500, 500);
    await oneEvent();
    await harness.simulator.callbacksIdle();
    const [event] = await events();
    expect(event).toMatchObject({ state: 'failed', attempts: 3, lastOutcome: '500' });
    await harness.call('POST', `/simulator/callbacks/${event?.id}/resend`);
    await harness.simulator.callbacksIdle();
    expect(await events()).toMatchObject([{ state: 'accepted', attempts: 4 }]);
  });

  test('can be duplicated', async () => {
    await settings({ duplicateProbability: 1 });
    await oneEvent();
    await harness.simulator.callbacksIdle();
    expect(receiver.names()).toEqual(['payment.failed', 'payment.failed']);
  });

  test('can be delayed', async () => {
    await settings({ delayMs: { min: 20, max: 40 } });
    const startedAtMs = Date.now();
    await oneEvent();
    await receiver.until(1);
    expect(Date.now() - startedAtMs).toBeGreaterThanOrEqual(19);
  });

  test('can be lost in 30 of 100 cases, in the same ones for the same seed', async () => {
    await settings({ dropProbability: 0.3 });
    const states = await hundredStates();
    expect(await hundredStates()).toEqual(states);
    const dropped = states.filter((state) => state === 'dropped').length;
    expect(dropped).toBeGreaterThan(15);
    expect(dropped).toBeLessThan(45);
  });

  test('are not sent for a QR code that expires, but for one that is closed', async () => {
    const closing = await harness.openSession();
    await harness.simulator.callbacksIdle();
    receiver.received.length = 0;
    await harness.call('POST', `/simulator/qr_codes/${qrCodeId}/expire`);
    await harness.gateway.closeSession(closing.gatewaySessionId);
    await harness.simulator.callbacksIdle();
    expect(receiver.names()).toEqual(['qr_code.closed']);
  });

  test('are sent for QR codes, refunds and transfers, with their entities', async () => {
    await settings({ hold: true });
    const account = await harness.linkedAccount();
    const paymentId = await harness.capture();
    const transfers = [{ account, amount: 1_000, currency: 'INR' }];
    await harness.call('POST', `/v1/payments/${paymentId}/transfers`, { transfers });
    await harness.setSwitches(paymentId, { transfersStay: 'failed' });
    await harness.call('POST', `/v1/payments/${paymentId}/transfers`, { transfers });
    await harness.call('POST', `/v1/payments/${paymentId}/refund`, { amount: 500 });
    await harness.setSwitches(paymentId, { refundsStartPending: true });
    await harness.call('POST', `/v1/payments/${paymentId}/refund`, { amount: 600 });
    await release('as_created');
    await harness.simulator.callbacksIdle();
    const received = receiver.received.map(({ name, rawBody }) => {
      const entities = payload.parse(JSON.parse(rawBody.toString())).payload;
      return [name, Object.entries(entities).map(([key, { entity }]) => [key, entity.status])];
    });
    const captured = ['payment', 'captured'];
    expect(received).toEqual([
      ['qr_code.created', [['qr_code', 'active']]],
      ['payment.captured', [captured]],
      ['qr_code.credited', [captured, ['qr_code', 'closed']]],
      ['transfer.processed', [['transfer', 'processed']]],
      ['transfer.failed', [['transfer', 'failed']]],
      ['refund.created', [['refund', 'processed'], captured]],
      ['refund.processed', [['refund', 'processed'], captured]],
      ['refund.created', [['refund', 'pending'], captured]],
    ]);
  });
});
