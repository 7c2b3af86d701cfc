import { expect, test } from 'vitest';
import { createKeyedLimiter } from '../../src/keyed-limiter.ts';

/** Calls that the limiter starts and that the test ends. */
function limitedCalls(maxConcurrent: number, maxWaiting = Infinity) {
  const limited = createKeyedLimiter(maxConcurrent);
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  return {
    begun,
    async call(key: string, name: string): Promise<string> {
      const end = Promise.withResolvers<string>();
      ends.set(name, end);
      const call = () => {
        begun.push(name);
        return end.promise;
      };
      return limited(key, call, { maxWaiting, instead: () => `no room for ${name}` });
    },
    async end(name: string, outcome: 'resolve' | 'reject' = 'resolve') {
      ends.get(name)?.[outcome](name);
      await new Promise(setImmediate);
    },
  };
}

test('at most so many calls for one key run at the same time, and the others start in their order of arrival', async () => {
  const { call, begun, end } = limitedCalls(2);
  const calls = ['a', 'b', 'c', 'd'].map((name) => call('one', name));
  expect(begun).toEqual(['a', 'b']);
  await end('b');
  expect(begun).toEqual(['a', 'b', 'c']);
  const late = call('one', 'e');
  await end('a');
  await end('c');
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
  await end('d');
  await end('e');
  expect(await Promise.all([...calls, late])).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('a call that fails makes room, and its caller gets the error', async () => {
  const { call, begun, end } = limitedCalls(1);
  const failing = call('one', 'a').catch((error: unknown) => `failed: ${String(error)}`);
  const next = call('one', 'b');
  await end('a', 'reject');
  expect(await failing).toBe('failed: a');
  expect(begun).toEqual(['a', 'b']);
  await end('b');
  expect(await next).toBe('b');
});

test('calls for other keys do not wait', async () => {
  const { call, begun, end } = limitedCalls(1);
  const calls = [call('one', 'a'), call('other', 'b')];
  expect(begun).toEqual(['a', 'b']);
  await end('a');
  await end('b');
  await Promise.all(calls);
});

test('a call for which too many wait is replaced, and room is made by what ends', async () => {
  const { call, begun, end } = limitedCalls(1, 1);
  const first = call('one', 'a').catch(() => 'failed');
  const second = call('one', 'b');
  expect(await call('one', 'c')).toBe('no room for c');
  const other = call('other', 'd');
  await end('a', 'reject');
  const third = call('one', 'e');
  expect(await call('one', 'f')).toBe('no room for f');
  for (const name of ['b', 'd', 'e']) await end(name);
  expect(await Promise.all([first, second, other, third])).toEqual(['failed', 'b', 'd', 'e']);
  expect(begun).toEqual(['a', 'd', 'b', 'e']);
});
