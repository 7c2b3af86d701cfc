import { describe, expect, test } from 'vitest';
import { environmentOver, loadDevConfig } from '../../dev/config.ts';
import { loadConfig, required } from '../../src/config.ts';
import { ConfigError } from '../../src/settings.ts';

const lineOf = (env: NodeJS.ProcessEnv) => {
  try {
    loadDevConfig(env);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
};

const PORT = 'a port number from 1 to 65535';
const SECONDS = 'a number of seconds from 0.001 to 7776000 (90 days)';
const RATE = 'a whole number from 1 to 1000000';
const WEB_ADDRESS = 'an http:// or https:// address';

/** Each variable that can be wrong: what it accepts, values that it refuses, values that it accepts. */
const VARIABLES: [name: string, accepts: string, wrong: string[], right: string[]][] = [
  ['NODE_ENV', 'development, test or production', ['prod'], ['test', 'production']],
  ['LOG_LEVEL', 'fatal, error, warn, info, debug, trace or silent', ['loud'], ['silent']],
  ['PORT', PORT, ['eighty', '0', '65536', '80.5'], ['1', '65535']],
  ['PORT_OFFSET', 'a whole number from 0 to 50000', ['-1', '50001', '0.5'], ['0', '50000']],
  ['METRICS_PORT', PORT, ['0', '65536'], ['9464']],
  ['DATABASE_URL', 'a postgres:// address', ['mysql://x'], ['postgres://x', 'postgresql://x']],
  ['TEMPORAL_ADDRESS', 'host:port', ['localhost', 'http://a:1'], ['localhost:7233']],
  [
    'WORKER_TASK_QUEUES',
    'orders or orders-money, or both separated by a comma',
    ['money', 'orders orders-money'],
    ['orders', 'orders-money, orders'],
  ],
  [
    'WORKER_MAX_CACHED_WORKFLOWS',
    'a whole number from 6 to 1000000',
    ['5', '6.5', 'many', '1000001'],
    ['6', '1000000'],
  ],
  [
    'TEMPORAL_WORKER_BUILD_ID',
    'up to 100 letters, digits, points, - and _',
    ['a:b', 'x'.repeat(101)],
    ['1.2.3-a_b'],
  ],
  ['PUBLIC_BASE_URL', WEB_ADDRESS, ['ftp://x', 'x'], ['http://x', 'https://x']],
  [
    'SECURITY_CONTACT',
    'an https:// or mailto: address',
    ['security@example.com', 'http://x', 'https:///', 'mailto:a@b\nPolicy: x'],
    ['https://x', 'mailto:security@example.com'],
  ],
  ['SECURITY_POLICY_URL', 'an https:// address', ['http://x'], ['https://x']],
  ['RATE_LIMIT_PER_SECOND', RATE, ['0', '1000001', '1.5'], ['1', '1000000']],
  ['RATE_LIMIT_STORE', 'memory or postgres', ['redis'], ['memory', 'postgres']],
  ['BUYER_RATE_LIMIT_PER_SECOND', RATE, ['0', '1000001', 'x'], ['1', '1000000']],
  ['DASHBOARD_RATE_LIMIT_PER_SECOND', RATE, ['0', '1000001', 'x'], ['1', '1000000']],
  [
    'TRUSTED_PROXIES',
    'addresses or CIDR ranges separated by commas',
    ['10.0.0.0/99', 'proxy'],
    ['10.0.0.1', '::1, 10.0.0.0/8'],
  ],
  [
    'API_SECRET_PEPPER',
    'at least 32 characters, several separated by commas, the newest first',
    ['short', `${'x'.repeat(32)},short`, `${'x'.repeat(32)},`],
    ['x'.repeat(32), `${'x'.repeat(32)},${'y'.repeat(32)}`],
  ],
  [
    'WEBHOOK_SECRET_KEYS',
    'id:base64 of 32 bytes, several with different ids separated by commas, the newest first',
    ['k1:abc', `a:${'A'.repeat(43)}=,a:${'B'.repeat(43)}=`],
    [`a:${'A'.repeat(43)}=`, `a:${'A'.repeat(43)}=,b:${'B'.repeat(43)}=`],
  ],
  [
    'DATA_ENCRYPTION_KEYS',
    'id:base64 of 32 bytes, several with different ids separated by commas, the newest first',
    ['k1:abc', `a:${'A'.repeat(43)}=,a:${'B'.repeat(43)}=`],
    [`a:${'A'.repeat(43)}=`, `a:${'A'.repeat(43)}=,b:${'B'.repeat(43)}=`],
  ],
  [
    'WEBHOOK_ALLOWED_CIDRS',
    'CIDR ranges separated by commas, and none when NODE_ENV is production',
    ['everyone', '127.0.0.1', '::1'],
    ['127.0.0.1/32', '127.0.0.0/8, ::1/128'],
  ],
  [
    'WEBHOOK_DENIED_PORTS',
    'port numbers from 1 to 65535 separated by commas',
    ['all', '22,65536', '0'],
    ['22', '22, 25'],
  ],
  [
    'WEBHOOK_RETRY_DELAYS_SECONDS',
    'four numbers of seconds separated by commas, and only 300,1800,7200,43200 when NODE_ENV is production',
    ['1,2,3', '1,2,3,4,5', '0,1,2,3', '1,2,3,a day'],
    ['1, 2, 3, 0.5', '300,1800,7200,43200'],
  ],
  [
    'SMTP_URL',
    'smtp://user:password@host:port or smtps://…, together with MAIL_FROM',
    ['mail.example:25', 'http://mail.example', 'smtp://'],
    [],
  ],
  [
    'MAIL_FROM',
    'an address, or a name and an address in angle brackets, together with SMTP_URL',
    ['Payments', 'a@x.example\r\nBcc: b@x.example', 'a@x.example, b@x.example', '<a@x.example>'],
    [],
  ],
  ...[
    'PAYMENT_LINK_SECONDS',
    'PAYMENT_SESSION_SECONDS',
    'COMPLETION_WINDOW_SECONDS',
    'DISPUTE_ANSWER_SECONDS',
    'SWEEP_AFTER_SECONDS',
  ].map((name): (typeof VARIABLES)[number] => [
    name,
    SECONDS,
    ['-1', '0', '7776001', 'a day'],
    ['0.001', '7776000'],
  ]),
  ['GATEWAY_SIMULATOR_CALLBACK_URL', WEB_ADDRESS, ['x'], ['http://x', 'https://x']],
  ['SANDBOX_RAZORPAY_BASE_URL', WEB_ADDRESS, ['ftp://x'], []],
  ['PRODUCTION_RAZORPAY_BASE_URL', 'an https:// address', ['http://x', 'x'], []],
];

describe('a wrong setting is one line that names the variable and what it accepts', () => {
  test.each(VARIABLES)('%s accepts %s', (name, accepts, wrong, right) => {
    for (const value of wrong) {
      expect(lineOf({ [name]: value }), value).toBe(`${name} is wrong: it accepts ${accepts}`);
    }
    for (const value of right) expect(lineOf({ [name]: value }), value).toBeUndefined();
  });
});

test('production refuses private addresses for webhooks', () => {
  const env = { NODE_ENV: 'production', WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' };
  expect(lineOf(env)).toContain('WEBHOOK_ALLOWED_CIDRS');
  expect(lineOf({ ...env, WEBHOOK_ALLOWED_CIDRS: '' })).toBeUndefined();
});

test('production refuses mails of the sandbox, whose addresses belong to strangers', () => {
  const env = { NODE_ENV: 'production', SANDBOX_MAILS: 'on' };
  expect(lineOf(env)).toMatch(/^SANDBOX_MAILS is wrong: /);
  expect(lineOf({ ...env, SANDBOX_MAILS: 'off' })).toBeUndefined();
  expect(loadConfig({ SANDBOX_MAILS: 'on' }).sandboxMails).toBe('on');
});

test('production refuses every webhook schedule except the specified one', () => {
  const name = 'WEBHOOK_RETRY_DELAYS_SECONDS';
  for (const delays of ['1,2,3,4', '300,1800,7200,43201', '1800,300,7200,43200']) {
    const line = lineOf({ NODE_ENV: 'production', [name]: delays });
    expect(line).toMatch(/^WEBHOOK_RETRY_DELAYS_SECONDS is wrong: it accepts four numbers/);
    expect(line).not.toContain('\n');
  }
  expect(lineOf({ NODE_ENV: 'production', [name]: '300, 1800, 7200, 43200' })).toBeUndefined();
  const specifiedMs = [300_000, 1_800_000, 7_200_000, 43_200_000];
  expect(loadConfig({ NODE_ENV: 'production' }).webhookRetryDelaysMs).toEqual(specifiedMs);
});

test('mails need a server and a sender, or neither', () => {
  const SMTP_URL = 'smtps://user:secret@mail.example:465';
  for (const MAIL_FROM of ['no-reply@payments.example', 'Payments <no-reply@payments.example>']) {
    const { mail } = loadConfig({ SMTP_URL, MAIL_FROM });
    expect(mail).toEqual({ smtpUrl: SMTP_URL, mailFrom: MAIL_FROM });
  }
  expect(loadConfig({}).mail).toBeUndefined();
  expect(lineOf({ SMTP_URL })).toMatch(/^MAIL_FROM is missing: /);
  expect(lineOf({ MAIL_FROM: 'a@x.example' })).toMatch(/^SMTP_URL is missing: /);
});

const KEY_SECRET = 'the secret of that key';
const CALLBACK_SECRET = 'the secret that the gateway signs its callbacks with';

describe.each([
  ['SANDBOX_RAZORPAY', 'http://127.0.0.1:8090', WEB_ADDRESS],
  ['PRODUCTION_RAZORPAY', 'https://api.razorpay.com', 'an https:// address'],
])('%s', (gateway, baseUrl, addresses) => {
  const whole: Record<string, string> = {
    [`${gateway}_BASE_URL`]: baseUrl,
    [`${gateway}_KEY_ID`]: 'rzp_x',
    [`${gateway}_KEY_SECRET`]: 'x',
    [`${gateway}_WEBHOOK_SECRET`]: 'x',
  };

  test('is configured completely or not at all', () => {
    expect(lineOf(whole)).toBeUndefined();
  });

  test.each([
    ['BASE_URL', addresses],
    ['KEY_ID', 'the id of a key of the gateway'],
    ['KEY_SECRET', KEY_SECRET],
    ['WEBHOOK_SECRET', CALLBACK_SECRET],
  ])('is refused without its %s, naming it', (part, accepts) => {
    const name = `${gateway}_${part}`;
    const line = `${name} is missing: it accepts ${accepts}`;
    expect(lineOf({ ...whole, [name]: '' })).toBe(line);
  });

  test('is refused if only one part is given', () => {
    const line = `${gateway}_BASE_URL is missing: it accepts ${addresses}`;
    expect(lineOf({ [`${gateway}_KEY_ID`]: 'rzp_x' })).toBe(line);
  });
});

test('the workers have a version if their build has an id', () => {
  const { workerVersion } = loadConfig({ TEMPORAL_WORKER_BUILD_ID: '1.2.3-a_b' });
  expect(workerVersion).toEqual({ deploymentName: 'orders', buildId: '1.2.3-a_b' });
  expect(loadConfig({}).workerVersion).toBeUndefined();
});

test('PORT_OFFSET moves the ports of what runs beside the service', () => {
  const { port, temporalPort, mailboxSmtpPort } = loadDevConfig({ PORT_OFFSET: '100' });
  expect({ port, temporalPort, mailboxSmtpPort }).toEqual({
    port: 8080,
    temporalPort: 7333,
    mailboxSmtpPort: 1125,
  });
});

test('no variable has to be set on a developer’s machine', () => {
  expect(loadConfig({})).toMatchObject({ port: 8080, rateLimitPerSecond: 10 });
});

test('the values of DATABASE_URL and SWEEP_AFTER_SECONDS are databaseUrl and sweepAfterMs', () => {
  const config = loadConfig({ DATABASE_URL: 'postgres://x', SWEEP_AFTER_SECONDS: '2.5' });
  expect(config).toMatchObject({ databaseUrl: 'postgres://x', durations: { sweepAfterMs: 2500 } });
});

test('what a part cannot do without is one line that names the variable and what it accepts', () => {
  const config = loadConfig({ TEMPORAL_ADDRESS: 'localhost:7233' });
  expect(required(config, 'TEMPORAL_ADDRESS')).toBe('localhost:7233');
  const line =
    'WEBHOOK_SECRET_KEYS is missing: it accepts id:base64 of 32 bytes, several with different ids separated by commas, the newest first';
  expect(() => required(config, 'WEBHOOK_SECRET_KEYS')).toThrow(new ConfigError(line));
});

test("one's own settings come before those of a running service, unless they are set to nothing", () => {
  const service = { PORT: '1', METRICS_PORT: '2', WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' };
  const own = { PORT: '3', METRICS_PORT: '', WEBHOOK_ALLOWED_CIDRS: '' };
  expect(loadConfig(environmentOver(service, {}))).toMatchObject({
    webhookAllowedCidrs: ['127.0.0.0/8'],
  });
  const expected = { port: 3, metricsPort: 2, webhookAllowedCidrs: [] };
  expect(loadConfig(environmentOver(service, own))).toMatchObject(expected);
});
