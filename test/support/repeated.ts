import type { ApiAnswer } from './api-client.ts';
import { until } from './until.ts';

/**
 * Repeats a request whose answer is a 500 or a 502, as the specification asks of clients, but faster. One
 * that may not take effect twice has an Idempotency-Key.
 */
export async function repeated<Data>(
  send: () => Promise<ApiAnswer<Data>>,
): Promise<ApiAnswer<Data>> {
  let answer = await send();
  await until(async () => {
    if (answer.status >= 500) answer = await send();
    return answer.status < 500;
  });
  return answer;
}
