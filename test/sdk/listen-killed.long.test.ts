import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { createClient, verify } from '../../sdk/typescript/src/index.ts';
import { anOrder } from '../support/api-client.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';
import { read, served } from './receivers.ts';

const PROGRAM = fileURLToPath(new URL('../../sdk/cli/src/main.ts', import.meta.url));
const SECRET = 'whsec_e38fe83fa6964c41c0933cfd8a7d7d3c1e07';
const EVENTS = 10_000;
/** It is killed each time when it has sent so many more. */
const KILLED_EVERY = 1700;

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

test('listen is killed again and again during 10,000 events, and loses none', async ({
  service,
  merchant,
}) => {
  const client = createClient({
    environment: 'sandbox',
    ...merchant.keys.sandbox,
    baseUrl: service.origin,
  });
  const order = await client.orders.create(anOrder());
  await service.sql`
    INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
    SELECT id, order_number, n, n, 'PAYMENT_FAILED', at,
      (body::jsonb || jsonb_build_object('event_id', id, 'sequence', n))::text
    FROM order_events, generate_series(2, ${EVENTS}) AS n,
      LATERAL (SELECT left(event_id, 20) || lpad(n::text, 10, '0') AS id) AS named
    WHERE order_number = ${order.order_number} AND sequence = 1`;

  const got = new Map<number, number>();
  let received = 0;
  const url = await served(async (request, response) => {
    const { sequence } = await verify(await read(request), request.headers, SECRET);
    got.set(sequence, (got.get(sequence) ?? 0) + 1);
    received += 1;
    response.end();
  });
  const folder = await mkdtemp(join(tmpdir(), 'payorders-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const listen = () =>
    spawn(
      process.execPath,
      [PROGRAM, 'listen', '--forward', url, '--state', join(folder, 'state'), '--once'].concat(
        got.size === 0 ? ['--from', '2020-01-01T00:00:00Z'] : [],
      ),
      {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: {
          PAYORDERS_BASE_URL: service.origin,
          PAYORDERS_API_KEY: merchant.keys.sandbox.apiKey,
          PAYORDERS_API_SECRET: merchant.keys.sandbox.apiSecret,
          PAYORDERS_WEBHOOK_SECRET: SECRET,
        },
      },
    );
  let kills = 0;
  for (;;) {
    const target = received + KILLED_EVERY;
    const child = listen();
    const ended = once(child, 'exit') as Promise<[number | null]>;
    let isRunning = true;
    void ended.then(() => (isRunning = false));
    await until(() => received >= target || !isRunning);
    if (!isRunning) {
      expect(await ended).toEqual([0, null]);
      break;
    }
    child.kill('SIGKILL');
    await ended;
    kills += 1;
  }
  expect(kills).toBeGreaterThan(3);
  expect(got.size).toBe(EVENTS);
  expect(Math.max(...got.keys())).toBe(EVENTS);
});
