import { until } from './until.ts';

const isToRepeat = (status: number) => status === 429 || status >= 500;

/** An answer that took longer is the contract's time-out. */
const TIMED_OUT_AFTER_MS = 4000;

/**
 * Repeats a request, which changes nothing or has an Idempotency-Key, while a busy machine takes longer than the
 * contract's 5 s. Every other fault is its answer.
 */
export async function repeatedIfLate<Answer extends { status: number }>(
  send: () => Promise<Answer>,
): Promise<Answer> {
  const startedAt = performance.now();
  const answer = await send();
  const isLate = answer.status === 500 && performance.now() - startedAt > TIMED_OUT_AFTER_MS;
  return isLate ? repeatedIfLate(send) : answer;
}

/**
 * Repeats a request whose answer is a 500, a 502 or a 429, as the specification asks of clients, but faster. One
 * that may not take effect twice has an Idempotency-Key.
 */
export async function repeated<Answer extends { status: number }>(
  send: () => Promise<Answer>,
): Promise<Answer> {
  let answer = await send();
  await until(async () => {
    if (isToRepeat(answer.status)) answer = await send();
    return !isToRepeat(answer.status);
  });
  return answer;
}
