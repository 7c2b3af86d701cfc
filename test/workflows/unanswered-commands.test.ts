import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import { writeCommand } from '../../src/orders/commands/command-queries.ts';
import type { NewCommand } from '../../src/orders/commands/command-queries.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { withKey } from '../support/api-client.ts';
import {
  ask,
  CLIENT_COMMANDS,
  COMMAND_REQUESTS,
  orderOverHttp,
} from '../support/command-requests.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import type { ReceivedWebhook } from '../support/webhook-receiver.ts';
import { until } from '../support/until.ts';

const test = serviceTest({ time: 'real', callbacks: false });
test.afterEach(({ merchant }) => merchant.receiver.answerWith(() => 200));

/** An earlier request has recorded the command, and died. Returns the headers of its repeat. */
async function recordOnly(
  { sql }: TestService,
  { order_number: orderNumber }: Order,
  { name, operation = name, body }: Pick<NewCommand, 'name' | 'body'> & { operation?: string },
) {
  const key = randomUUID();
  const commandId = { operation, key };
  const origin = { actor: TEST_ACTOR, reason: '' };
  await writeCommand(sql, { orderNumber, commandId, name, body, origin });
  return withKey(key);
}

/** The states of the commands of an order, the latest last. */
async function statesOf({ sql }: TestService, { order_number }: Order, name: string) {
  const rows = await sql<{ state: string }[]>`
    SELECT state FROM order_commands WHERE order_number = ${order_number} AND name = ${name}
    ORDER BY written_at`;
  return rows.map(({ state }) => state);
}

/** Moves the commands back, to before any request that may still run. */
const makeOld = ({ sql }: TestService, { order_number }: Order) => sql`
  UPDATE order_commands SET written_at = written_at - interval '1 minute'
  WHERE order_number = ${order_number}`;

// A pay command is recorded once its capture is, and can always be continued.
const REFUSED_AT_THE_END = CLIENT_COMMANDS.filter((name) => name !== 'pay');

test.for(REFUSED_AT_THE_END)(
  '%s: a repeat of a request that died is refused once its order takes it no more, and so is its command',
  async (name, { service, merchant: { sandbox } }) => {
    const order = await orderOverHttp(sandbox, 'CANCELLED');
    const [, operation = ''] = COMMAND_REQUESTS[name].path.split('{id}/');
    const command = (name.startsWith('decide') ? 'decide' : name) as NewCommand['name'];
    const headers = await recordOnly(service, order, { name: command, operation, body: {} });
    await makeOld(service, order);
    const { status } = await ask(sandbox, name, order, { headers });
    const states = await statesOf(service, order, command);
    expect([status, states.at(-1)]).toEqual([400, 'REFUSED']);
  },
);

describe('a helper that sends its order no message', () => {
  test('is not done twice at once, and is done by a repeat if the request that recorded it died', async ({
    service,
    merchant: { sandbox },
  }) => {
    const order = await orderOverHttp(sandbox, 'PAID');
    const body = { outcome: 'open' };
    const headers = await recordOnly(service, order, { name: 'chargeback', body });
    const path = `/test-helpers/orders/${order.order_number}/chargeback`;
    const send = () => sandbox.post(path, body, headers);
    const early = await send();
    expect([early.status, early.headers.get('Retry-After')]).toEqual([429, '1']);
    const kinds = async () => (await sandbox.timeline(order)).entries.map(({ kind }) => kind);
    expect(await kinds()).not.toContain('CHARGEBACK_OPENED');
    await makeOld(service, order);
    const done = await send();
    expect([done.status, done.headers.get('Idempotent-Replayed')]).toEqual([200, null]);
    expect(await kinds()).toContain('CHARGEBACK_OPENED');
    const again = await send();
    expect([again.status, again.headers.get('Idempotent-Replayed')]).toEqual([200, 'true']);
    expect(await statesOf(service, order, 'chargeback')).toEqual(['DONE']);
  });

  test('moves the webhook attempts of an order that has ended since its clock was to be moved', async ({
    service,
    merchant: { sandbox, receiver },
  }) => {
    receiver.answerWith(() => 500);
    const order = await orderOverHttp(sandbox, 'CANCELLED');
    const isWaiting = async () => {
      const rows = await service.sql`
        SELECT FROM webhook_deliveries JOIN order_events USING (event_id)
        WHERE order_number = ${order.order_number} AND next_attempt_at > service_now()`;
      return rows.length === 2;
    };
    await until(isWaiting);
    const body = { seconds: 86_400 };
    const headers = await recordOnly(service, order, { name: 'advance', body });
    await makeOld(service, order);
    receiver.answerWith(() => 200);
    const { status } = await ask(sandbox, 'advance', order, { headers, body });
    expect(status).toBe(200);
    // Each of the two events has a second attempt.
    const isOfOrder = ({ body: { data } }: ReceivedWebhook) =>
      data['order_number'] === order.order_number;
    await receiver.until(4, isOfOrder);
    expect(await statesOf(service, order, 'advance')).toEqual(['DONE']);
  });
});
