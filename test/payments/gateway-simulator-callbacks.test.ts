import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { KEYS, startHarness, startReceiver } from './gateway-harness.ts';
import type { Harness } from './gateway-harness.ts';

type Receiver = Awaited<ReturnType<typeof startReceiver>>;
let receiver: Receiver;
let harness: Harness;
/** The receiver's response to each call; 200 after the end of the list. */
let statuses: number[];
beforeEach(async () => {
  statuses = [];
  receiver = await startReceiver(statuses);
  harness = await startHarness({ simulator: { callbackUrl: receiver.url, seed: 7 } });
});
afterEach(async () => {
  await harness.close();
  await receiver.close();
});

const settings = (change: object) => harness.call('PATCH', '/simulator/callbacks', change);
const release = (order: string) => harness.call('POST', '/simulator/callbacks/release', { order });

async function events() {
  const { body } = await harness.call('GET', '/simulator/callbacks');
  return z.array(z.looseObject({ id: z.string(), state: z.string() })).parse(body['events']);
}

/** A failed payment, which makes exactly one event. */
async function oneEvent() {
  const { gatewaySessionId } = await harness.openSession();
  await harness.pay(gatewaySessionId, { vpa: 'failure@razorpay' });
  return gatewaySessionId;
}

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
    await harness.capture();
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

  test('can be dropped', async () => {
    await settings({ dropProbability: 1 });
    await harness.capture();
    await harness.simulator.callbacksIdle();
    expect(receiver.received).toEqual([]);
    expect((await events()).map(({ state }) => state)).toEqual(['dropped', 'dropped']);
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

  test('can be held until they are released, in the requested order', async () => {
    await settings({ hold: true });
    const gatewaySessionId = await oneEvent();
    await harness.pay(gatewaySessionId);
    expect(receiver.received).toEqual([]);
    expect((await release('reversed')).body).toMatchObject({ released: 3 });
    await harness.simulator.callbacksIdle();
    const expected = ['qr_code.credited', 'payment.captured', 'payment.failed'];
    expect(receiver.names()).toEqual(expected);
    expect((await release('shuffled')).body).toMatchObject({ released: 0 });
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
    const expiring = await harness.openSession();
    await harness.call('POST', `/simulator/qr_codes/${expiring.gatewaySessionId}/expire`);
    const closing = await harness.openSession();
    await harness.gateway.closeSession(closing.gatewaySessionId);
    await harness.simulator.callbacksIdle();
    expect(receiver.names()).toEqual(['qr_code.closed']);
  });

  test('are sent for late payments like for any other', async () => {
    const { gatewaySessionId } = await harness.openSession();
    await harness.gateway.closeSession(gatewaySessionId);
    await harness.pay(gatewaySessionId, { late: true });
    await harness.simulator.callbacksIdle();
    expect(receiver.names()).toContain('qr_code.credited');
  });
});
