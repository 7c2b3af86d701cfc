import { setTimeout as delay } from 'node:timers/promises';

/** A read that has run for this long may hang, as on a lost connection: it is not waited for. */
const MAX_WAIT_MS = 50;

/** The read of one key that runs now. */
interface RunningRead<Value> {
  readonly startedAtMs: number;
  readonly settled: Promise<void>;
  /** The read that begins after this one, for those that have called meanwhile. */
  next?: Promise<Value>;
}

/**
 * Lets concurrent callers share reads of the same key. Callers that come while a read runs wait for
 * it and then share the next one: a read always begins after the call, so its value is never older
 * than the call, as without sharing.
 *
 * @param nowMs a monotonic clock
 */
export function createSharedReads<Value>(
  read: (key: string) => Promise<Value>,
  nowMs = () => performance.now(),
): (key: string) => Promise<Value> {
  const running = new Map<string, RunningRead<Value>>();

  function start(key: string): Promise<Value> {
    const value = read(key);
    const settled = value.then(
      () => undefined,
      () => undefined,
    );
    const own: RunningRead<Value> = { startedAtMs: nowMs(), settled };
    running.set(key, own);
    void settled.then(() => {
      if (own.next === undefined && running.get(key) === own) running.delete(key);
    });
    return value;
  }

  return (key) => {
    const current = running.get(key);
    if (!current || nowMs() - current.startedAtMs > MAX_WAIT_MS) return start(key);
    current.next ??= Promise.race([current.settled, delay(MAX_WAIT_MS)]).then(() => start(key));
    return current.next;
  };
}
