import { expect, test } from 'vitest';
import { createBatches } from '../../src/db/batches.ts';
import { endOfTurn } from '../support/turn.ts';

/** Batches that end when the test says so. */
function controlledBatches(hangsAfterMs?: number) {
  const begun: { items: string[]; answer: PromiseWithResolvers<string[]> }[] = [];
  const call = createBatches<string, string>((items) => {
    const answer = Promise.withResolvers<string[]>();
    begun.push({ items, answer });
    return answer.promise;
  }, hangsAfterMs);
  return {
    call,
    items: () => begun.map(({ items }) => items.join()),
    end: (index: number) =>
      begun[index]!.answer.resolve(begun[index]!.items.map((item) => `${item}${index}`)),
    fail: (index: number) => begun[index]!.answer.reject(new Error(`lost ${index}`)),
  };
}

test('the calls of a turn are one batch, and calls with the same item share a result', async () => {
  const { call, items, end } = controlledBatches();
  const calls = ['a', 'b', 'a'].map(call);
  await endOfTurn();
  expect(items()).toEqual(['a,b']);
  end(0);
  expect(await Promise.all(calls)).toEqual(['a0', 'b0', 'a0']);
});

test('calls made while two batches run wait for a third, which starts when one ends', async () => {
  const { call, items, end } = controlledBatches();
  const first = call('a');
  await endOfTurn();
  const second = call('a');
  await endOfTurn();
  expect(items()).toEqual(['a', 'a']);
  const later = ['a', 'b', 'a'].map(call);
  await endOfTurn();
  expect(items()).toHaveLength(2);
  end(0);
  expect(await first).toBe('a0');
  await endOfTurn();
  expect(items()).toEqual(['a', 'a', 'a,b']);
  end(2);
  expect(await Promise.all(later)).toEqual(['a2', 'b2', 'a2']);
  end(1);
  expect(await second).toBe('a1');
});

test('a failed batch rejects only its own calls; the next one runs again', async () => {
  const { call, fail, end } = controlledBatches();
  const calls = ['a', 'b'].map(call);
  await endOfTurn();
  fail(0);
  for (const one of calls) await expect(one).rejects.toThrow('lost 0');
  const again = call('a');
  await endOfTurn();
  end(1);
  expect(await again).toBe('a1');
});

test('batches that hang delay no others', async () => {
  const { call, items, end } = controlledBatches(1);
  const hanging = call('a');
  await endOfTurn();
  const alsoHanging = call('b');
  await endOfTurn();
  const later = call('c');
  await expect.poll(items).toEqual(['a', 'b', 'c']);
  for (const index of [0, 1, 2]) end(index);
  expect(await Promise.all([hanging, alsoHanging, later])).toEqual(['a0', 'b1', 'c2']);
});
