import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { GatewayCheck } from '../../src/payments/gateway/check-gateway.ts';
import type { GatewayRecord } from '../../src/payments/gateway/gateway-record.ts';
import { runPilot } from '../../src/payments/gateway/gateway-pilot.ts';
import { createRazorpayGateway } from '../../src/payments/razorpay/gateway.ts';
import { adminCli } from '../support/admin-cli.ts';
import {
  askGateway,
  breakGateway,
  payAtGateway,
  SANDBOX,
  setSwitches,
  simulator,
  withCallbacks,
  withoutCallbacks,
} from '../support/gateway.ts';
import { startReplayedGateway } from '../support/replayed-gateway.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { SIMULATOR_KEYS } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const test = serviceTest({ time: 'real', worker: false, callbacks: false });

interface Checked {
  ok: boolean;
  checks: GatewayCheck[];
}

async function check(
  { env }: TestService,
  linkedAccountId?: string,
  settings: Record<string, string> = {},
) {
  const account = linkedAccountId === undefined ? [] : ['--linked-account', linkedAccountId];
  const cli = adminCli({ ...env, ...settings });
  const { code, stdout } = await cli.run(
    'gateway',
    'check',
    '--gateway',
    'razorpay',
    ...account,
    '--json',
  );
  const { ok, checks } = JSON.parse(stdout) as Checked;
  expect(code).toBe(ok ? 0 : 1);
  return checks;
}

/** What has failed: the check, the gateway's reason and the remedy. */
const failed = (checks: readonly GatewayCheck[]) =>
  checks
    .filter(({ isOk }) => !isOk)
    .map(({ what, found, remedy }) => ({ what, found, remedy: remedy ?? '' }));

const containing = (text: string) => expect.stringContaining(text) as string;

/** The same account each time; transfers to it are possible a day after the first. */
async function aLinkedAccount(service: TestService): Promise<string> {
  const { linkedAccountId } = await service.deps.gateways.forOrder(SANDBOX).createLinkedAccount({
    email: 'check@example.com',
    name: 'Check Traders',
  });
  return linkedAccountId;
}

/** The same account, to which transfers are possible. */
async function anOldAccount(service: TestService): Promise<string> {
  const account = await aLinkedAccount(service);
  await simulator(service, 'PATCH', `/accounts/${account}`, {
    status: 'created',
    ageSeconds: 90_000,
  });
  return account;
}

test('a gateway with everything passes, leaves no open session, and moves no money', async ({
  service,
}) => {
  const account = await anOldAccount(service);
  const before = await simulator(service, 'GET', '/totals');
  const checks = await check(service, account);
  expect(failed(checks)).toEqual([]);
  expect(checks).toHaveLength(5);
  const sessions = await service.deps.gateways.forOrder(SANDBOX).listSessions(0);
  expect(new Set(sessions.map(({ state }) => state))).toEqual(new Set(['closed']));
  expect(await simulator(service, 'GET', '/totals')).toEqual(before);
});

describe('what is missing is named with its remedy:', () => {
  test.afterEach(({ service }) =>
    setSwitches(service, 'all', { qrCodesRefused: null, imageContent: null }),
  );

  test('the keys', async ({ service }) => {
    const wrong = { SANDBOX_RAZORPAY_KEY_SECRET: 'another secret' };
    expect(failed(await check(service, undefined, wrong))).toEqual([
      {
        what: 'keys, and the list of chargebacks',
        found: containing('The api key provided is invalid'),
        remedy: containing('KEY_SECRET'),
      },
    ]);
  });

  test('an answer', async ({ service }) => {
    const { endFault } = await breakGateway(service, { kind: 'error', method: 'GET' });
    const [first, ...others] = failed(await check(service));
    await endFault();
    expect(first).toMatchObject({ what: 'keys, and the list of chargebacks' });
    expect(others).toEqual([]);
  });

  test('QR codes', async ({ service }) => {
    const qrCodesRefused = 'QR Codes are not enabled for the merchant';
    await setSwitches(service, 'all', { qrCodesRefused });
    expect(failed(await check(service))).toEqual([
      {
        what: 'a payment session with its UPI link',
        found: containing(qrCodesRefused),
        remedy: containing('enable QR codes'),
      },
    ]);
  });

  test('the content of QR codes', async ({ service }) => {
    await setSwitches(service, 'all', { imageContent: false });
    expect(failed(await check(service))).toMatchObject([
      { found: containing('IMAGE_CONTENT_MISSING'), remedy: containing('image_content') },
    ]);
  });

  test('a linked account that exists, is verified, and is old enough', async ({ service }) => {
    expect(failed(await check(service, 'acc_Unknown'))).toMatchObject([
      { what: 'the linked account acc_Unknown', remedy: containing('Copy the id') },
    ]);
    const account = await aLinkedAccount(service);
    await simulator(service, 'PATCH', `/accounts/${account}`, { ageSeconds: 0 });
    expect(failed(await check(service, account))).toMatchObject([
      { what: `the linked account ${account}: transfers`, remedy: containing('Wait') },
    ]);
    await simulator(service, 'PATCH', `/accounts/${account}`, { status: 'suspended' });
    expect(failed(await check(service, account))).toMatchObject([
      { found: 'suspended', remedy: containing('verification') },
    ]);
  });
});

describe('--pilot', () => {
  const PAYER_VPA = 'gauri.kumari@okbank';
  const pilotOf = (account: string, ...more: string[]) => {
    const command = ['gateway', 'check', '--gateway', 'razorpay', '--linked-account', account];
    return [...command, '--pilot', ...more];
  };
  const readRecord = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as GatewayRecord;

  /** Runs the command, and pays the session when the operator is asked to. */
  async function payPilot(service: TestService) {
    const account = await anOldAccount(service);
    const file = join(temporaryFolder(), 'answers.json');
    const said: string[] = [];
    let paying = Promise.resolve('');
    const say = (line: string) => {
      said.push(line);
      const [, session] = /a payment session of INR 5: (qr_\w+)/.exec(said.at(-2) ?? '') ?? [];
      if (session !== undefined && line.startsWith('Pay INR 5')) {
        paying = payAtGateway(service, session, { vpa: PAYER_VPA });
      }
    };
    const cli = adminCli(service.env, { say });
    const result = await cli.run(...pilotOf(account, '--answers', file));
    return { account, file, said, gatewayPaymentId: await paying, ...result };
  }

  test('shows the payment page while it runs, then each step, and raises no alert', async ({
    service,
  }) => {
    await withCallbacks(service);
    const { code, stdout, said, file, gatewayPaymentId } = await payPilot(service);
    await simulator(service, 'POST', '/callbacks/idle');
    await withoutCallbacks(service);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: containing(`The gateway's answers are in ${file}.`),
    });
    expect(said).toContainEqual(
      expect.stringMatching(/^Pay INR 5 by UPI within 15 minutes:\n {2}http\S+\n {2}upi:\/\/pay\?/),
    );
    const steps = said.filter((line) => line.startsWith('ok '));
    expect(steps).toHaveLength(14);
    expect(steps.at(-2)).toMatch(/^ok {6}the refund: rfnd_\w+, processed$/);
    expect(stdout).toContain(gatewayPaymentId);
    const events = await service.sql`
      SELECT 1 FROM gateway_callbacks WHERE event = 'payment.captured'`;
    expect(events).toHaveLength(1);
    expect(await service.sql`SELECT kind, subject FROM alerts`).toEqual([]);
  });

  test('writes every answer to a file of its owner, without payer and keys', async ({
    service,
  }) => {
    const { file, account, gatewayPaymentId } = await payPilot(service);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const path = `/v1/payments/${gatewayPaymentId}`;
    const payment = await askGateway<Record<string, unknown>>(service, 'GET', path);
    const text = readFileSync(file, 'utf8');
    const { rrn } = payment['acquirer_data'] as { rrn: string };
    const { keyId, keySecret, webhookSecret } = SIMULATOR_KEYS;
    const hidden = {
      payer: [PAYER_VPA, payment['vpa'], payment['email'], payment['contact'], rrn],
      keys: [keyId, keySecret, webhookSecret, btoa(`${keyId}:${keySecret}`)],
      merchant: ['check@example.com', '9000090000', 'Check Traders'],
    };
    for (const value of Object.values(hidden).flat()) {
      expect(value).toMatch(/../);
      expect(text).not.toContain(value);
    }
    const { exchanges, checks, ...about } = readRecord(file);
    expect(about).toEqual({ ...SANDBOX, linkedAccountId: account });
    expect(checks).toHaveLength(14);
    const paths = exchanges.map(({ path: asked }) => asked);
    expect(paths).toEqual(
      expect.arrayContaining([
        `/v2/accounts/${account}`,
        `${path}/transfers`,
        `${path}/refund`,
        `${path}/refunds`,
      ]),
    );
  });

  test('writes what the same pilot can be served again', async ({ service, onTestFinished }) => {
    const { checks, exchanges, linkedAccountId } = readRecord((await payPilot(service)).file);
    expect(checks.every(({ isOk }) => isOk)).toBe(true);
    const replayed = await startReplayedGateway(exchanges);
    const gateway = createRazorpayGateway({ baseUrl: replayed.url, ...SIMULATOR_KEYS });
    onTestFinished(async () => {
      await gateway.close();
      await replayed.close();
    });
    const options = { linkedAccountId, onOpened: () => undefined, intervalMs: 1 };
    expect(await runPilot(gateway, options)).toEqual(checks);
    expect([...replayed.unknown, ...replayed.notMade()]).toEqual([]);
  });

  test('overwrites no file', async ({ service, cli }) => {
    const file = join(temporaryFolder(), 'answers.json');
    writeFileSync(file, 'of another pilot');
    const refusal = await cli.refusal(...pilotOf(await anOldAccount(service), '--answers', file));
    expect(refusal).toBe(`${file} exists already: name another file with --answers`);
    expect(readFileSync(file, 'utf8')).toBe('of another pilot');
  });

  test('needs a linked account', async ({ cli }) => {
    const command = ['gateway', 'check', '--gateway', 'razorpay', '--pilot'];
    expect(await cli.misuse(...command)).toContain('--pilot needs --linked-account ID');
  });
});
