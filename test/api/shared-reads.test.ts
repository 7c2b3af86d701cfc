import { expect, test } from 'vitest';
import { createSharedReads } from '../../src/merchants/shared-reads.ts';
import { endOfTurn } from '../support/turn.ts';

/** Reads that end when the test says so. */
function controlledReads() {
  const reads: { key: string; answer: PromiseWithResolvers<number> }[] = [];
  let nowMs = 0;
  const read = createSharedReads(
    (key) => {
      const answer = Promise.withResolvers<number>();
      reads.push({ key, answer });
      return answer.promise;
    },
    () => nowMs,
  );
  return { reads, read, pass: (ms: number) => (nowMs += ms) };
}

test('callers that come during a read share one that begins after they have come', async () => {
  const { reads, read } = controlledReads();
  const first = read('a');
  const [second, third] = [read('a'), read('a')];
  expect(reads).toHaveLength(1);
  reads[0]?.answer.resolve(1);
  expect(await first).toBe(1);
  await endOfTurn();
  expect(reads).toHaveLength(2);
  const fourth = read('a');
  reads[1]?.answer.resolve(2);
  expect(await Promise.all([second, third])).toEqual([2, 2]);
  await endOfTurn();
  expect(reads).toHaveLength(3);
  reads[2]?.answer.resolve(3);
  expect(await fourth).toBe(3);
});

test('a call without others reads for itself, and keys do not wait for each other', async () => {
  const { reads, read } = controlledReads();
  const [one, other] = [read('a'), read('b')];
  expect(reads.map(({ key }) => key)).toEqual(['a', 'b']);
  reads[0]?.answer.resolve(1);
  reads[1]?.answer.resolve(2);
  expect(await Promise.all([one, other])).toEqual([1, 2]);
  await endOfTurn();
  const later = read('a');
  expect(reads).toHaveLength(3);
  reads[2]?.answer.resolve(3);
  expect(await later).toBe(3);
});

test('a failed read fails for those that share it; the next one reads again', async () => {
  const { reads, read } = controlledReads();
  const first = read('a');
  const shared = [read('a'), read('a')];
  reads[0]?.answer.reject(new Error('lost'));
  await expect(first).rejects.toThrow('lost');
  await endOfTurn();
  reads[1]?.answer.reject(new Error('lost again'));
  for (const one of shared) await expect(one).rejects.toThrow('lost again');
  await endOfTurn();
  const later = read('a');
  reads[2]?.answer.resolve(3);
  expect(await later).toBe(3);
});

test('a read that hangs does not delay those that come later', async () => {
  const { reads, read, pass } = controlledReads();
  const hanging = read('a');
  pass(51);
  const later = read('a');
  reads[1]?.answer.resolve(2);
  expect(await later).toBe(2);
  reads[0]?.answer.resolve(1);
  expect(await hanging).toBe(1);
});
