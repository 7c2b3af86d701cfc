import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test as plainTest } from 'vitest';
import { runCli } from '../../sdk/cli/src/run.ts';
import { SCENARIOS } from '../../sdk/cli/src/scenarios.ts';
import { createClient, signTestEvent } from '../../sdk/typescript/src/index.ts';
import { EVENT_TYPES } from '../../src/domain/index.ts';
import { anOrder } from '../support/api-client.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';
import { MISTAKES, RIGHT, served } from './receivers.ts';

const SECRET = 'whsec_e38fe83fa6964c41c0933cfd8a7d7d3c1e07';

/** Runs `payorders`. */
async function payorders(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  signal = new AbortController().signal,
) {
  let stdout = '';
  let stderr = '';
  const exitCode = await runCli(args, {
    env,
    signal,
    out: (text) => void (stdout += text),
    err: (text) => void (stderr += text),
  });
  const lines = stdout.trim().split('\n');
  return { exitCode, stdout, stderr, json: () => lines.map((line) => JSON.parse(line) as never) };
}

/** A folder that is deleted after the test. */
async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'payorders-'));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

const test = serviceTest({ time: 'real' })
  .extend('env', ({ service, merchant }) => ({
    PAYORDERS_BASE_URL: service.origin,
    PAYORDERS_API_KEY: merchant.keys.sandbox.apiKey,
    PAYORDERS_API_SECRET: merchant.keys.sandbox.apiSecret,
    PAYORDERS_WEBHOOK_SECRET: SECRET,
  }))
  .extend('client', ({ service, merchant }) =>
    createClient({
      environment: 'sandbox',
      ...merchant.keys.sandbox,
      baseUrl: service.origin,
      sleep: async () => undefined,
    }),
  );

describe('scenarios', () => {
  test.for(SCENARIOS)('$id has exactly its webhooks', async (scenario, { client }) => {
    const orderNumber = await scenario.run(client);
    await until(async () => {
      const { content } = await client.events.list({ orderNumber, size: 100 }).page();
      return content.length >= scenario.webhooks.length;
    });
    const { content } = await client.events.list({ orderNumber, size: 100 }).page();
    const inOrder = content.toSorted((left, right) => left.sequence - right.sequence);
    expect(inOrder.map(({ event }) => event)).toEqual(scenario.webhooks);
  });

  plainTest('each event of the specification has one', () => {
    const all = new Set(SCENARIOS.flatMap(({ webhooks }) => webhooks));
    expect([...all].toSorted()).toEqual([...EVENT_TYPES].toSorted());
    expect(new Set(SCENARIOS.map(({ id }) => id)).size).toBe(SCENARIOS.length);
  });
});

describe('prove', () => {
  // Only a receiver that never answers is slow.
  const prove = (url: string, slowMs: number) =>
    payorders(['prove', url, '--slow', String(slowMs), '--json'], {
      PAYORDERS_WEBHOOK_SECRET: SECRET,
    });

  plainTest.for(Object.entries(MISTAKES))(
    'finds a receiver that %s',
    async ([, { probe, make }]) => {
      const slowMs = probe === 'slow' ? 100 : 60_000;
      const { exitCode, json } = await prove(await served(make(SECRET)), slowMs);
      expect(exitCode).toBe(1);
      const findings = json() as { probe: string; passed: boolean }[];
      expect(findings.filter(({ passed }) => !passed).map((one) => one.probe)).toContain(probe);
    },
  );

  plainTest.for(Object.entries(RIGHT))('passes %s', async ([, make]) => {
    const { exitCode, stdout } = await prove(await served(make(SECRET)), 60_000);
    expect(exitCode, stdout).toBe(0);
  });
});

test('listen forwards each event once, signed, and continues behind the last one', async ({
  env,
  client,
}) => {
  const state = join(await folder(), 'state.json');
  const got: string[] = [];
  const receiver = RIGHT['a receiver made by hand']?.(SECRET);
  const url = await served(async (request, response) => {
    got.push(String(request.headers['x-service-event-id']));
    await receiver?.(request, response);
  });
  const args = ['listen', '--forward', url, '--state', state, '--once', '--json'];
  const first = await client.orders.create(anOrder());
  const from = ['--from', first.created_at];
  expect((await payorders([...args, ...from], env)).exitCode).toBe(0);
  const before = got.length;
  expect(before).toBeGreaterThan(0);
  expect((await payorders(args, env)).exitCode).toBe(0);
  expect(got).toHaveLength(before);
  const second = await client.orders.create(anOrder());
  const { exitCode, json } = await payorders([...args, '--fail', '1'], env);
  expect(exitCode).toBe(0);
  expect(json()).toMatchObject([
    { event: 'ORDER_CREATED', attempt: 1, lost: true },
    { event: 'ORDER_CREATED', attempt: 2, status: 204, orderNumber: second.order_number },
  ]);
  expect(got).toHaveLength(before + 1);
});

test('trigger causes an event, and events lists, shows and sends it again', async ({ env }) => {
  const triggered = await payorders(['trigger', 'payment_failed', '--json'], env);
  expect(triggered.exitCode).toBe(0);
  const [{ orderNumber }] = triggered.json() as unknown as [{ orderNumber: string }];
  const listed = await payorders(['events', 'list', '--order', orderNumber, '--json'], env);
  const events = listed.json() as unknown as { event: string; event_id: string }[];
  const failed = events.find(({ event }) => event === 'PAYMENT_FAILED');
  const shown = await payorders(['events', 'show', failed?.event_id ?? '', '--json'], env);
  expect(shown.json()).toMatchObject([{ event: { event: 'PAYMENT_FAILED' } }]);
  await until(async () => {
    const { exitCode } = await payorders(['events', 'resend', failed?.event_id ?? ''], env);
    return exitCode === 0;
  });
});

test('doctor says what is wrong', async ({ env }) => {
  const url = await served(RIGHT['a receiver made by hand']?.(SECRET) ?? (async () => undefined));
  const fine = await payorders(['doctor', '--endpoint', url], env);
  expect(fine.exitCode, fine.stdout).toBe(0);
  const wrongKey = await payorders(['doctor'], { ...env, PAYORDERS_API_SECRET: 'sk_test_wrong' });
  expect(wrongKey.exitCode).toBe(1);
  expect(wrongKey.stdout).toContain('FAILED keys: UNAUTHORIZED');
  const away = await payorders(['doctor'], { ...env, PAYORDERS_BASE_URL: 'http://127.0.0.1:1' });
  expect(away.exitCode).toBe(3);
});

describe('webhook verify', () => {
  plainTest('names the rule that fails', async () => {
    const path = await folder();
    const [body, headers] = [join(path, 'body'), join(path, 'headers')];
    const signed = await signTestEvent({ event: 'ORDER_CREATED' }, SECRET);
    await writeFile(body, signed.body);
    const lines = Object.entries(signed.headers).map(([name, value]) => `${name}: ${value}`);
    await writeFile(headers, lines.join('\r\n'));
    const check = (secret: string, ...more: string[]) =>
      payorders(['webhook', 'verify', '--body', body, '--headers', headers, '--json', ...more], {
        PAYORDERS_WEBHOOK_SECRET: secret,
      });
    expect((await check(`whsec_other,${SECRET}`)).exitCode).toBe(0);
    const stripped = await check(SECRET.slice('whsec_'.length));
    expect(stripped.exitCode).toBe(1);
    expect(stripped.json()).toMatchObject([{ mistake: 'prefix_stripped' }]);
    const late = await check(SECRET, '--at', '2030-01-01T00:00:00Z');
    expect(late.json()).toMatchObject([{ mistake: 'clock' }]);
  });
});

plainTest('a wrong command line is exit code 2, and says why', async () => {
  for (const args of [
    [],
    ['nonsense'],
    ['listen'],
    ['listen', '--forward', 'http://127.0.0.1:1'],
    ['listen', '--nonsense'],
    ['prove', 'no-url'],
    ['trigger', 'NONSENSE'],
    ['events', 'show'],
    ['webhook', 'verify'],
  ]) {
    const { exitCode, stdout, stderr } = await payorders(args);
    expect(exitCode, args.join(' ')).toBe(2);
    expect(stdout + stderr).not.toBe('');
  }
  expect((await payorders(['--help'])).stdout).toContain('listen --forward URL');
});
