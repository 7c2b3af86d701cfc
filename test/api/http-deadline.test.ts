import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createDeadline } from '../../src/http/limits/deadline.ts';
import { createReading } from '../../src/metrics/reading.ts';

const hanging = () => new Promise<never>(() => undefined);

/** What a promise has come to at moments of a clock that only the test moves. */
function observed(start: () => Promise<unknown>) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const state = { now: 'waiting' };
  start().then(
    (value) => (state.now = `answered ${String(value)}`),
    ({ message }: Error) => (state.now = message),
  );
  return async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    return state.now;
  };
}

test('a request whose work hangs fails after 4.5 s, half a second before the limit of the contract', async () => {
  const after = observed(() => createDeadline()(hanging));
  expect(await after(4_499)).toBe('waiting');
  expect(await after(1)).toBe('No answer within 4500 ms');
});

test('the parts of a request have one limit together', async () => {
  const first = Promise.withResolvers<void>();
  const within = createDeadline();
  const after = observed(async () => {
    await within(() => first.promise);
    return within(hanging);
  });
  expect(await after(2_000)).toBe('waiting');
  first.resolve();
  expect(await after(2_499)).toBe('waiting');
  expect(await after(1)).toBe('No answer within 2500 ms');
});

test('a value for a scrape is given up after 3 s', async () => {
  const log = pino({ level: 'silent' });
  const after = observed(createReading(hanging, { what: 'the orders', log }));
  expect(await after(2_999)).toBe('waiting');
  expect(await after(1)).toBe('answered undefined');
});
