import { expect, test } from 'vitest';
import { createLimiter, type Limits } from '../../src/limiter.ts';

/** Work that the limiter begins and that the test ends. */
function limitedWork(limits: Limits) {
  const limiter = createLimiter(
    limits,
    (waitingMs) => new Error(`refused, ${Math.ceil(waitingMs / 1000)} s`),
  );
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  return {
    begun,
    async run(key: string, name: string): Promise<string> {
      const end = Promise.withResolvers<string>();
      ends.set(name, end);
      return limiter
        .run(key, () => {
          begun.push(name);
          return end.promise;
        })
        .catch((error: Error) => error.message);
    },
    async end(...names: string[]) {
      for (const name of names) ends.get(name)?.resolve(name);
      await new Promise(setImmediate);
    },
    async fail(name: string) {
      ends.get(name)?.reject(new Error(`${name} failed`));
      await new Promise(setImmediate);
    },
  };
}

test('at most so much work of one key runs at the same time, and the rest begins in its order of arrival', async () => {
  const { run, begun, end } = limitedWork({ ofOne: 2 });
  const runs = ['a', 'b', 'c', 'd'].map((name) => run('one', name));
  expect(begun).toEqual(['a', 'b']);
  await end('b');
  expect(begun).toEqual(['a', 'b', 'c']);
  const late = run('one', 'e');
  await end('a', 'c');
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
  await end('d', 'e');
  expect(await Promise.all([...runs, late])).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('work that fails makes room, and its caller gets the error', async () => {
  const { run, begun, end, fail } = limitedWork({ ofOne: 1 });
  const failing = run('one', 'a');
  const next = run('one', 'b');
  await fail('a');
  expect(await failing).toBe('a failed');
  expect(begun).toEqual(['a', 'b']);
  await end('b');
  expect(await next).toBe('b');
});

test('work of other keys does not wait', async () => {
  const { run, begun, end } = limitedWork({ ofOne: 1 });
  const runs = [run('one', 'a'), run('other', 'b')];
  expect(begun).toEqual(['a', 'b']);
  await end('a', 'b');
  await Promise.all(runs);
});

test('work for which too much of its key waits is refused, and room is made by what ends', async () => {
  const { run, begun, end, fail } = limitedWork({ ofOne: 1, maxWaiting: 1 });
  const first = run('one', 'a');
  const second = run('one', 'b');
  expect(await run('one', 'c')).toBe('refused, 1 s');
  const other = run('other', 'd');
  await fail('a');
  const third = run('one', 'e');
  expect(await run('one', 'f')).toBe('refused, 1 s');
  await end('b', 'd', 'e');
  expect(await Promise.all([first, second, other, third])).toEqual(['a failed', 'b', 'd', 'e']);
  expect(begun).toEqual(['a', 'd', 'b', 'e']);
});

test('work that has waited too long is refused and never begun', async () => {
  const { run, begun, end } = limitedWork({ ofOne: 1, maxWaitMs: 1 });
  const first = run('one', 'a');
  expect(await run('one', 'b')).toBe('refused, 1 s');
  await end('a');
  await first;
  const next = run('one', 'c');
  await end('c');
  await next;
  expect(begun).toEqual(['a', 'c']);
});

test('one key has half of all slots, two a third each, and one is left for a key that has none', async () => {
  const { run, begun } = limitedWork({ ofAll: 12 });
  const flood = (key: string) => Array.from({ length: 20 }, (_, index) => run(key, key + index));
  const begunOf = (key: string) => begun.filter((name) => name.startsWith(key)).length;
  void flood('a');
  expect(begunOf('a')).toBe(6);
  void flood('b');
  void flood('c');
  expect(['a', 'b', 'c'].map(begunOf)).toEqual([6, 3, 2]);
  void run('d', 'd');
  expect(begun.at(-1)).toBe('d');
});

test('a falling share leaves a slot for a key that has none, and the work of all that waits is limited', async () => {
  const limits = { ofAll: 8, ofOne: 4, isShareFalling: true, maxWaitingOfAll: 2 };
  const { run, begun } = limitedWork(limits);
  const keys = ['a', 'b', 'c', 'd', 'e'];
  const floods = keys.map((key) => [1, 2, 3].map((work) => run(key, key + work)));
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'd1', 'e1']);
  const refused = await Promise.all([floods[2]?.[2], floods[3]?.[1]]);
  expect(refused).toEqual(['refused, 1 s', 'refused, 1 s']);
});

test('a slot that becomes free goes to the waiting key with the fewest', async () => {
  const { run, begun, end } = limitedWork({ ofAll: 4 });
  for (const name of ['a1', 'a2', 'a3', 'a4']) void run('a', name);
  for (const name of ['b1', 'b2']) void run('b', name);
  void run('c', 'c1');
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1']);
  void run('d', 'd1');
  await end('a1');
  expect(begun.at(-1)).toBe('d1');
  await end('b1', 'c1');
  expect(begun.slice(5)).toEqual(['b2']);
  await end('d1');
  expect(begun.slice(6)).toEqual(['a3']);
});

test('keys that always have work leave a free slot to one that came later', async () => {
  const { run, begun, end } = limitedWork({ ofAll: 2 });
  for (const [key, name] of [
    ['a', 'a1'],
    ['b', 'b1'],
    ['a', 'a2'],
    ['b', 'b2'],
    ['c', 'c1'],
  ] as const) {
    void run(key, name);
  }
  await end('a1');
  void run('a', 'a3');
  await end('b1');
  void run('b', 'b3');
  await end('a2');
  expect(begun).toEqual(['a1', 'b1', 'a2', 'b2', 'c1']);
});

test('who is refused learns when those that wait will have begun, at the pace of what has ended', async () => {
  const waits: number[] = [];
  const refuse = (waitingMs: number) => new Error(String(waits.push(waitingMs)));
  const limiter = createLimiter({ ofOne: 1, maxWaiting: 1 }, refuse);
  const end = Promise.withResolvers<void>();
  const flood = () => [1, 2, 3].map(() => limiter.run('a', () => end.promise));
  const [first, second, refused] = flood();
  await expect(refused).rejects.toThrow('1');
  end.resolve();
  await Promise.all([first, second]);
  for (let quick = 0; quick < 50; quick += 1) await limiter.run('a', async () => undefined);
  await expect(flood()[2]).rejects.toThrow('2');
  expect(waits[0]).toBe(1000);
  expect(waits[1]).toBeLessThan(500);
});

test('a slot that was taken at once is released once', () => {
  const limiter = createLimiter({ ofAll: 2 });
  const release = limiter.take('a');
  expect(() => limiter.take('a')).toThrow('Too much work at the same time');
  limiter.take('b');
  release();
  release();
  limiter.take('c');
  expect(() => limiter.take('d')).toThrow('Too much work at the same time');
});
