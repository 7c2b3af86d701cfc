import { expect } from 'vitest';
import { harnessTest } from './gateway-harness.ts';
import { refundWithLostResponses } from './lost-refunds.ts';

const test = harnessTest();

test('refunds whose responses are lost after they were made are 1,000 for 1,000 payments', async ({
  harness,
}) => {
  expect(await refundWithLostResponses(harness, 1_000)).toEqual({
    refunds: 1_000,
    refundedPaise: 3_000_000,
  });
});

test('they are 200 for 200 payments by the look-up alone, with a gateway that ignores the key', async ({
  harness,
}) => {
  await harness.setSwitches('all', { honourIdempotencyKeys: false });
  expect(await refundWithLostResponses(harness, 200)).toEqual({
    refunds: 200,
    refundedPaise: 600_000,
  });
});
