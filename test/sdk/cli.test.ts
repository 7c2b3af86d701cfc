import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test as plainTest } from 'vitest';
import { runCli } from '../../sdk/cli/src/run.ts';
import { SCENARIOS } from '../../sdk/cli/src/scenarios.ts';
import { createClient, signTestEvent } from '../../sdk/typescript/src/index.ts';
import { EVENT_TYPES } from '../../src/domain/index.ts';
import { anOrder } from '../support/api-client.ts';
import { serviceTest } from '../support/service-test.ts';
import { shortWait } from '../support/short-wait.ts';
import { until } from '../support/until.ts';
import { MISTAKES, RIGHT, served } from './receivers.ts';

const SECRET = 'whsec_e38fe83fa6964c41c0933cfd8a7d7d3c1e07';

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

/** Runs `listen` until the test is done, with short waits. */
function listening(args: readonly string[], env: Readonly<Record<string, string>>) {
  const end = new AbortController();
  const output = { text: '' };
  const waitsMs: number[] = [];
  const exitCode = runCli(['listen', ...args], {
    env,
    signal: end.signal,
    out: (text) => void (output.text += text),
    err: (text) => void (output.text += text),
    sleep: async (ms, signal) => {
      waitsMs.push(ms);
      await shortWait(ms, signal);
    },
  });
  onTestFinished(async () => {
    end.abort();
    await exitCode;
  });
  const finish = async () => {
    end.abort();
    return exitCode;
  };
  return { output, waitsMs, finish };
}

/** A receiver that keeps the order of what it gets. */
async function receiving(answer: () => number) {
  const got: string[] = [];
  const server = createServer((request, response) => {
    const status = answer();
    if (status === 204) got.push(String(request.headers['x-service-event-id']));
    response.writeHead(status).end();
    request.resume();
  });
  const open = async (port: number) => {
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return (server.address() as { port: number }).port;
  };
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  const port = await open(0);
  return { got, url: `http://127.0.0.1:${port}/hook`, close, reopen: () => open(port) };
}

test('listen goes on when the service was away for longer than its client repeats', async ({
  env,
  client,
  service,
}) => {
  const state = join(await folder(), 'state.json');
  const { created_at: from } = await client.orders.create(anOrder());
  let refusals = 0;
  const front = await served(async (request, response) => {
    if (refusals < 12) {
      refusals += 1;
      response.writeHead(503, { 'Content-Type': 'text/html' }).end('<h1>away</h1>');
      return;
    }
    const { 'x-api-key': key, 'x-api-secret': secret } = request.headers;
    const headers = { 'X-API-Key': String(key), 'X-API-Secret': String(secret) };
    const answer = await fetch(new URL(request.url ?? '', service.origin), { headers });
    response.writeHead(answer.status).end(await answer.text());
  });
  const { got, url } = await receiving(() => 204);
  const { output, waitsMs, finish } = listening(
    ['--forward', url, '--state', state, '--from', from],
    { ...env, PAYORDERS_BASE_URL: new URL(front).origin },
  );
  await until(() => got.length > 0);
  await client.orders.create(anOrder());
  await until(async () => {
    const { content } = await client.events.list({ createdFrom: from, size: 100 }).page();
    return content.length >= 2 && got.length === content.length;
  });
  const { content } = await client.events.list({ createdFrom: from, size: 100 }).page();
  expect(got).toEqual(content.map((event) => event.event_id));
  expect(output.text.match(/The events cannot be read/g)).toHaveLength(2);
  expect(Math.max(...waitsMs)).toBeLessThanOrEqual(30_000);
  expect(await finish()).toBe(0);
});

test('listen ends at once with what no waiting mends', async ({ env }) => {
  const state = join(await folder(), 'state.json');
  const args = ['listen', '--forward', 'http://127.0.0.1:9999/', '--state', state];
  const wrong = await payorders(args, { ...env, PAYORDERS_API_SECRET: 'sk_test_wrong' });
  expect(wrong.exitCode).toBe(1);
  await writeFile(state, JSON.stringify({ next: 'no cursor' }));
  expect((await payorders(args, env)).exitCode).toBe(1);
  await writeFile(state, '{');
  expect((await payorders(args, env)).exitCode).toBe(2);
});

test('listen keeps every event, in order, while the own server is away', async ({
  env,
  client,
}) => {
  const state = join(await folder(), 'state.json');
  const { created_at: from } = await client.orders.create(anOrder());
  let status = 502;
  const { got, url, close, reopen } = await receiving(() => status);
  const args = ['--forward', url, '--state', state, '--from', from];
  const first = listening(args, env);
  // More often than a server that refuses is asked.
  await until(() => first.waitsMs.length > 5);
  await close();
  const count = first.waitsMs.length;
  await until(() => first.waitsMs.length > count + 5);
  expect(Math.max(...first.waitsMs)).toBeLessThanOrEqual(8000);
  expect(await first.finish()).toBe(0);
  expect(JSON.parse(await readFile(state, 'utf8'))).toEqual({ from });

  // It continues without --from.
  const second = listening(args.slice(0, 4), env);
  await client.orders.create(anOrder());
  await until(() => second.waitsMs.length > 5);
  status = 204;
  await reopen();
  await until(async () => {
    const { content } = await client.events.list({ createdFrom: from, size: 100 }).page();
    return content.length >= 2 && got.length === content.length;
  });
  const { content } = await client.events.list({ createdFrom: from, size: 100 }).page();
  expect(got).toEqual(content.map((event) => event.event_id));
  expect(second.output.text.match(/Your server is away/g)).toHaveLength(1);
  expect(second.output.text.match(/Your server is back/g)).toHaveLength(1);
  expect(await second.finish()).toBe(0);
});

plainTest('a malformed variable or URL is named at once, without its value', async () => {
  let requests = 0;
  const url = await served(async (_, response) => {
    requests += 1;
    response.end();
  });
  const env = {
    PAYORDERS_BASE_URL: new URL(url).origin,
    PAYORDERS_API_KEY: 'mk_test_abcdefgh',
    PAYORDERS_API_SECRET: 'sk_test_abcdefgh',
    PAYORDERS_WEBHOOK_SECRET: SECRET,
  };
  const path = await folder();
  const state = ['--state', join(path, 'state.json')];
  const commands = {
    listen: ['listen', '--forward', url, ...state],
    prove: ['prove', url],
    verify: ['webhook', 'verify', '--body', path, '--headers', path],
    doctor: ['doctor', '--endpoint', url],
  };
  const { listen, prove, verify, doctor } = commands;
  const fails = async (args: readonly string[], changed: Partial<typeof env>, says: string) => {
    const { exitCode, stdout, stderr } = await payorders(args, { ...env, ...changed });
    expect(exitCode, args.join(' ')).toBe(2);
    expect(stdout + stderr).toContain(says);
    expect(stdout + stderr).not.toMatch(/e38fe83f|abcdefgh|hidden-word/);
  };
  for (const args of [listen, prove, verify, doctor]) {
    for (const secret of [`"${SECRET}"`, `${SECRET} `]) {
      await fails(args, { PAYORDERS_WEBHOOK_SECRET: secret }, 'white space or quotes');
    }
    await fails(args, { PAYORDERS_WEBHOOK_SECRET: `${SECRET}\n` }, 'ends with a line break');
  }
  for (const args of [listen, prove, doctor]) {
    const stripped = SECRET.slice('whsec_'.length);
    await fails(args, { PAYORDERS_WEBHOOK_SECRET: stripped }, 'does not begin with whsec_');
    await fails(args, { PAYORDERS_WEBHOOK_SECRET: 'whsec_abcdefgh1' }, 'no base64');
    const withoutScheme = args.map((one) => (one === url ? 'localhost:3000/hook' : one));
    await fails(withoutScheme, {}, 'must begin with http:// or https://');
    const withPassword = args.map((one) => (one === url ? 'http://me:hidden-word@host/' : one));
    await fails(withPassword, {}, 'must not contain a user or password');
  }
  for (const args of [listen, doctor, ['events', 'list']]) {
    await fails(args, { PAYORDERS_API_SECRET: 'sk_test_abcdefgh\n' }, 'ends with a line break');
    await fails(args, { PAYORDERS_BASE_URL: 'me:hidden-word@host' }, 'The base URL');
  }
  await fails([...listen, '--from', 'yesterday'], {}, '--from must be a time');
  await fails(['sk_test_abcdefgh'], {}, 'is unknown');
  expect(requests).toBe(0);
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
