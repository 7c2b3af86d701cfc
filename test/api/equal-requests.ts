import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { ApiClient } from '../support/api-client.ts';
import { anOrder, withKey } from '../support/api-client.ts';
import { until } from '../support/until.ts';
import { ask, orderOverHttp } from '../support/command-requests.ts';
import { openSessionOf, REPEATED_COMMANDS, replayOf } from './repeated-commands.ts';
import type { twoApiTest } from './two-apis.ts';

/** The tests of equal requests that reach two APIs at the same time, so many. */
export function testEqualRequests(test: ReturnType<typeof twoApiTest>, count: number) {
  /**
   * Clients repeat a request that is answered with 429, which has had no effect: a merchant's requests wait up to a
   * second for a slot at the gateway. They also repeat after a 500 or 502, with which an API responds that has not
   * reached its servers, or the gateway, in time; that request may have taken effect.
   */
  let unknownOutcomes = 0;
  const repeatedly = async <Answer extends { status: number }>(send: () => Promise<Answer>) => {
    for (;;) {
      const answer = await send();
      if (answer.status < 500 && answer.status !== 429) return answer;
      if (answer.status !== 429) unknownOutcomes += 1;
    }
  };
  const atBoth = <Answer extends { status: number }>(
    both: readonly [ApiClient, ApiClient],
    send: (client: ApiClient) => Promise<Answer>,
  ) => {
    unknownOutcomes = 0;
    const clients = Array.from({ length: count }, (_, index) => both[index % 2 === 0 ? 0 : 1]);
    return Promise.all(clients.map((client) => repeatedly(() => send(client))));
  };
  /** One response is no replay; it may be lost when its request was answered with 500. */
  const expectOneFirst = (answers: { headers: Headers }[]) => {
    const firsts = answers.filter((answer) => replayOf(answer).replayed === null);
    expect(firsts.length).toBeLessThanOrEqual(1);
    expect(firsts.length + unknownOutcomes).toBeGreaterThanOrEqual(1);
  };

  test.for(REPEATED_COMMANDS)(
    '$name: equal concurrent commands to two APIs take effect once, and one response is no replay',
    async ({ name, fits, step }, { api, both, stepsOf }) => {
      const order = await orderOverHttp(api, fits);
      const headers = withKey(randomUUID());
      const answers = await atBoth(both, (client) => ask(client, name, order, { headers }));
      const [first] = answers;
      for (const answer of answers) {
        expect([answer.status, answer.body.message]).toEqual([200, first?.body.message]);
        expect(answer.body.data.order_number).toBe(order.order_number);
      }
      expectOneFirst(answers);
      expect(answers.filter((answer) => replayOf(answer).mismatch !== null)).toEqual([]);
      const steps = await stepsOf(order.order_number);
      expect(steps.filter((kind) => kind === step)).toHaveLength(1);
    },
  );

  test('equal concurrent posts to two APIs make one order and one workflow', async ({
    service,
    both,
    stepsOf,
  }) => {
    const key = randomUUID();
    const answers = await atBoth(both, (client) => client.post('/orders', anOrder(), withKey(key)));
    const numbers = new Set(answers.map(({ body }) => body.data.order_number));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    const rows = await service.sql`SELECT FROM orders WHERE idempotency_key = ${key}`;
    expect([numbers.size, rows.length]).toEqual([1, 1]);
    expectOneFirst(answers);
    const [orderNumber = ''] = numbers;
    await until(async () => (await stepsOf(orderNumber)).length > 0);
    expect(await stepsOf(orderNumber)).toEqual(['ORDER_CREATED']);
    const handle = service.temporal.client.workflow.getHandle(orderNumber);
    expect((await handle.describe()).status.name).toBe('RUNNING');
  });

  test('equal concurrent posts to two APIs open one payment session', async ({
    service,
    api,
    both,
  }) => {
    const order = await api.create();
    const key = randomUUID();
    const answers = await atBoth(both, (client) => openSessionOf(client, order, key));
    expect(new Set(answers.map(({ body }) => body.data.session_id)).size).toBe(1);
    const rows = await service.sql<{ state: string }[]>`
      SELECT state FROM payment_sessions WHERE order_number = ${order.order_number}`;
    const failed = rows.filter(({ state }) => state === 'FAILED');
    expect(rows.length - failed.length).toBe(1);
    expect(failed.length).toBeLessThanOrEqual(unknownOutcomes);
  });
}
