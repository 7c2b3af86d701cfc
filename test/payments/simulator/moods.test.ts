import { expect } from 'vitest';
import { beginMood, endMoods } from '../../../dev/load/moods.ts';
import { type MoodName, MOODS } from '../../../dev/gateway-simulator/moods.ts';
import { harnessTest, KEYS } from '../gateway-harness.ts';

const test = harnessTest();

test('once the moods have ended, no switch is set and nothing is pending', async ({ harness }) => {
  const access = { baseUrl: harness.simulator.url, ...KEYS };
  const refunded = harness.refundInput(await harness.capture());
  const held = harness.transferInput(await harness.capture(), await harness.linkedAccount());
  const { gatewaySessionId } = await harness.openSession();
  for (const mood of ['pendingRefunds', 'pendingTransfers', 'authorizedPayments'] as const) {
    await beginMood(access, mood);
  }
  const { reversalId } = await harness.gateway.refund(refunded);
  expect(await harness.gateway.holdFunds(held)).toMatchObject({ state: 'pending' });
  const { body: authorized } = await harness.pay(gatewaySessionId);
  const pending = async () => (await harness.call('GET', '/simulator/pending')).body;
  expect(await pending()).toMatchObject({
    refunds: [reversalId],
    transfers: [expect.any(String)],
    payments: [authorized.id],
  });

  const moods = Object.keys(MOODS) as MoodName[];
  for (const mood of moods) await beginMood(access, mood);
  await endMoods(access, moods);
  expect(await pending()).toMatchObject({ refunds: [], transfers: [], payments: [] });
  const { body } = await harness.call('GET', '/simulator/switches');
  expect(body['switches']).toEqual({});
  expect(await harness.gateway.refund(refunded)).toMatchObject({ state: 'processed' });
  expect(await harness.gateway.holdFunds(held)).toMatchObject({ state: 'held' });
  expect(await harness.gateway.fetchPayment(authorized.id)).toMatchObject({ status: 'captured' });
});
