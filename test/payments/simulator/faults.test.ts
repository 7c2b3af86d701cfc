import { describe, expect } from 'vitest';
import { harnessTest } from '../gateway-harness.ts';

const test = harnessTest();

describe('a fault', () => {
  test.for(['before', 'after'])(
    'holds a call until it ends, and does the work %s that',
    async (work, { harness }) => {
      const paymentId = await harness.capture();
      const path = `/v1/payments/${paymentId}/refund`;
      const id = await harness.fault({ kind: 'held', path, work });
      const calling = harness.call('POST', path);
      const hits = async () => {
        const { body } = await harness.call('GET', '/simulator/faults');
        return (body['faults'] as { hits: number }[])[0]?.hits;
      };
      await expect.poll(hits).toBe(1);
      expect(await harness.made(paymentId, 'refunds')).toHaveLength(work === 'before' ? 1 : 0);
      await harness.call('DELETE', `/simulator/faults/${id}`);
      expect((await calling).status).toBe(200);
      expect(await harness.made(paymentId, 'refunds')).toHaveLength(1);
    },
  );

  test('affects the same calls again for the same seed', async ({ harness }) => {
    const run = async () => {
      await harness.call('POST', '/simulator/seed', { seed: 42 });
      const statuses: number[] = [];
      for (let call = 0; call < 12; call += 1) {
        statuses.push((await harness.call('GET', '/v1/payments/qr_codes')).status);
      }
      return statuses;
    };
    await harness.fault({ kind: 'error', probability: 0.5 });
    const statuses = await run();
    expect(await run()).toEqual(statuses);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
  });
});
