import { until } from './until.ts';

const isToRepeat = (status: number) => status === 429 || status >= 500;

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
