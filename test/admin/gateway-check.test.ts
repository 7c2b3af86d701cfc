import { describe, expect } from 'vitest';
import type { GatewayCheck } from '../../src/payments/check-gateway.ts';
import { SANDBOX } from '../support/gateway.ts';
import { adminCli } from '../support/admin-cli.ts';
import { breakGateway, simulator, setSwitches } from '../support/gateway.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

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

async function aLinkedAccount(service: TestService): Promise<string> {
  const { linkedAccountId } = await service.deps.gateways.forOrder(SANDBOX).createLinkedAccount({
    email: 'check@example.com',
    phone: '9000090000',
    legalBusinessName: 'Check Traders',
    contactName: 'Check Traders',
    businessType: 'proprietorship',
    category: 'ecommerce',
    subcategory: 'ecommerce_marketplace',
    registeredAddress: {
      street1: '1 Test Road',
      street2: 'Test Nagar',
      city: 'Bengaluru',
      state: 'KARNATAKA',
      postalCode: '560001',
    },
  });
  return linkedAccountId;
}

test('a gateway with everything passes, leaves no open session, and moves no money', async ({
  service,
}) => {
  const account = await aLinkedAccount(service);
  await simulator(service, 'PATCH', `/accounts/${account}`, { ageSeconds: 90_000 });
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
