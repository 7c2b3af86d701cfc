import { describe, expect } from 'vitest';
import { MERCHANT_COMMANDS } from '../../src/main/admin/accounts.ts';
import type { AdminService } from '../../src/main/admin/service.ts';
import { requireMerchant } from '../../src/merchants/queries.ts';
import type { Gateways } from '../../src/payments/gateway/gateways.ts';
import { checkLinkedAccounts } from '../../src/payments/funds/linked-accounts.ts';
import { reconcilePayments } from '../../src/payments/reconcile/reconcile.ts';
import { dashboardTest } from '../dashboard/dashboard-test.ts';
import { browserOf } from '../dashboard/browsing.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { anOrder } from '../support/api-client.ts';
import { alerts, simulator } from '../support/gateway.ts';
import { changeAccount, newAccount } from '../support/linked-accounts.ts';
import type { Merchant } from '../support/merchant.ts';
import { carriedOutBy } from '../support/proposals.ts';
import { SECRET_KEYS } from '../support/secret-keys.ts';
import type { TestService } from '../support/service.ts';
import { codeOf, merchantUser, operatorUser, PASSWORD, TOTP_SECRET } from '../support/users.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const PRODUCTION = { gateway: 'razorpay', environment: 'production' } as const;

const test = dashboardTest({
  time: 'real',
  worker: false,
  productionGateway: true,
  merchant: { webhooks: false },
});

test.beforeEach(({ service }) => service.clock.set(0));

/** Runs `merchant approve`; the command line cannot be given the simulator as production's gateway. */
async function approve(
  { sql, deps, config }: TestService,
  merchantId: string,
  linkedAccount: string,
) {
  const { email } = await operatorUser(sql, 'admin');
  const command = MERCHANT_COMMANDS['merchant approve'];
  const gateways = async () => deps.gateways;
  const dataBox = () => createSecretBox(SECRET_KEYS);
  const askSecrets = async () => [PASSWORD, codeOf(TOTP_SECRET)];
  const parts = { sql, actor: TEST_ACTOR, config, gateways, dataBox, askSecrets };
  const service = parts as unknown as AdminService;
  const alone = { as: email, 'break-glass': true, reason: 'An emergency' };
  const values = { merchant: merchantId, 'linked-account': linkedAccount, ...alone };
  return command.run(service, values as never);
}

/** A merchant that was approved with an account, which is at the gateway as `change` says. */
async function approvedWith(
  service: TestService,
  change: Parameters<typeof changeAccount>[2],
): Promise<Merchant & { linkedAccountId: string }> {
  const merchant = await service.newMerchant({ webhooks: false });
  const linkedAccountId = await newAccount(service, change);
  await approve(service, merchant.merchantId, linkedAccountId);
  return { ...merchant, linkedAccountId };
}

const noGateways: Gateways = {
  all: [],
  find: () => null,
  forOrder: () => {
    throw new Error('No gateway is configured');
  },
};

const isRefused = async ({ production }: Merchant) =>
  (await production.post('/orders', anOrder())).status === 403;

const stateOf = async ({ sql }: TestService, { merchantId }: Merchant) =>
  (await requireMerchant(sql, merchantId)).linkedAccountState;

const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');

const subjectOf = ({ linkedAccountId }: { linkedAccountId: string }) =>
  `razorpay:${linkedAccountId}`;

const openAlerts = ({ sql }: TestService, account: { linkedAccountId: string }) => sql`
  SELECT details->>'state' AS state FROM alerts
  WHERE kind = 'linked_account_unusable' AND subject = ${subjectOf(account)}
    AND cleared_at IS NULL`;

describe('a merchant that is approved with an account', () => {
  test.for([
    ['activated and 24 hours old', {}, false],
    ['activated by its status', { status: 'activated' }, false],
    ['not verified', { activation: 'not_activated' }, true],
    ['under review', { status: 'under_review' }, true],
    ['suspended', { status: 'suspended' }, true],
  ] as const)('%s', async ([_what, change, refused], { service }) => {
    expect(await isRefused(await approvedWith(service, change))).toBe(refused);
  });

  test('that is new can take payments after 24 hours, without a further question', async ({
    service,
  }) => {
    const merchant = await approvedWith(service, { ageSeconds: 60 });
    expect(await isRefused(merchant)).toBe(true);
    await service.clock.set(DAY_MS - HOUR_MS);
    expect(await isRefused(merchant)).toBe(true);
    await service.clock.set(DAY_MS);
    expect(await isRefused(merchant)).toBe(false);
  });

  test('takes payments in the sandbox, whatever the account', async ({ service }) => {
    const { sandbox } = await approvedWith(service, { status: 'suspended' });
    expect((await sandbox.post('/orders', anOrder())).status).toBe(201);
  });
});

describe('an account that the gateway does not have', () => {
  test('is refused on the command line: the merchant is not approved', async ({ service }) => {
    const { merchantId } = await service.newMerchant({ webhooks: false });
    await service.sql`UPDATE merchants SET status = 'PENDING' WHERE merchant_id = ${merchantId}`;
    await expect(approve(service, merchantId, 'acc_Unknown')).rejects.toThrow(
      'razorpay does not have the linked account acc_Unknown: copy the id from its dashboard',
    );
    expect(await requireMerchant(service.sql, merchantId)).toMatchObject({
      status: 'PENDING',
      linkedAccounts: {},
    });
  });

  test('is refused on the page, which keeps what was typed', async ({
    service,
    operators: { finance },
  }) => {
    const merchant = await service.newMerchant({ webhooks: false });
    const path = `/operator/merchants/${merchant.merchantId}`;
    const { status, body } = await finance.post(`${path}/linked-account`, {
      linkedAccountId: 'acc_Unknown',
      accountReason: 'The merchant has opened it',
    });
    expect([status, body]).toEqual([400, expect.stringContaining('value="acc_Unknown"')]);
    expect(textOf(body)).toContain('razorpay does not have the linked account acc_Unknown');
    expect(await stateOf(service, merchant)).toBeNull();
  });
});

test('while the gateway cannot be asked, the account is refused on the page and on the command line', async ({
  service,
  operators: { finance, admin },
}) => {
  const merchant = await service.newMerchant({ webhooks: false });
  const linkedAccountId = await newAccount(service);
  const fields = { linkedAccountId, accountReason: 'The merchant has opened it' };
  const path = `/operator/merchants/${merchant.merchantId}/linked-account`;
  const production = { config: service.config, environment: 'production' } as const;
  await simulator(production, 'POST', '/faults', { kind: 'error', path: '/v2/accounts/*' });
  const page = await finance.post(path, fields);
  const line = approve(service, merchant.merchantId, linkedAccountId);
  await expect(line).rejects.toThrow('repeat this in a few minutes');
  await simulator(production, 'DELETE', '/faults');
  expect(page.status).toBe(502);
  expect(textOf(page.body)).toContain('razorpay cannot be asked for the linked account');
  expect(await stateOf(service, merchant)).toBeNull();
  await carriedOutBy(admin, await finance.post(path, fields));
  expect(await isRefused(merchant)).toBe(false);
});

describe('why a merchant is not ready, and until when', () => {
  test.for([
    [{ activation: 'verification_pending' }, 'razorpay has not activated its linked account yet'],
    [{ status: 'suspended' }, 'razorpay has suspended its linked account'],
    [{ ageSeconds: 0 }, 'razorpay makes no transfers to its new linked account yet: it does from'],
  ] as const)(
    '%j is on the pages of operators and of the merchant',
    async ([change, reason], { service, operators: { support } }) => {
      const { merchantId } = await approvedWith(service, change);
      const user = browserOf(service.origin, await merchantUser(service.sql, merchantId));
      const pages = [
        await support.get(`/operator/merchants/${merchantId}`),
        await user.get('/dashboard/production/onboarding'),
      ];
      for (const { body } of pages) expect(textOf(body)).toContain(`because ${reason}`);
    },
  );

  test('is in the result of the command and in the list', async ({ service, cli }) => {
    const merchant = await approvedWith(service, { ageSeconds: 0 });
    const { transfersFrom } = await requireMerchant(service.sql, merchant.merchantId);
    const result = await approve(service, merchant.merchantId, merchant.linkedAccountId);
    const until = transfersFrom?.toISOString().replace('T', ' ').replace('.000Z', 'Z');
    const reason = `razorpay makes no transfers to its new linked account yet, until ${until}`;
    expect(result?.data).toMatchObject({
      isReady: false,
      linkedAccountState: 'activated',
      transfersFrom,
      warning: expect.stringContaining(reason),
    });
    expect((await cli.run('merchant', 'list')).stdout).toContain(reason);
  });
});

describe('reconciliation', () => {
  test('asks for an account that waits once an hour, and the merchant becomes ready by itself', async ({
    service,
  }) => {
    const merchant = await approvedWith(service, { activation: 'verification_pending' });
    await changeAccount(service, merchant.linkedAccountId, { activation: 'activated' });
    await service.clock.set(HOUR_MS / 2);
    await reconcilePayments(service.deps);
    expect(await stateOf(service, merchant)).toBe('waiting');
    await service.clock.set(HOUR_MS);
    await reconcilePayments(service.deps);
    expect(await stateOf(service, merchant)).toBe('activated');
    expect(await isRefused(merchant)).toBe(false);
    expect(alerts(service, 'linked_account_unusable', subjectOf(merchant))).toEqual([]);
  });

  test('finds within a day that an account is suspended: an alert, until it is not', async ({
    service,
  }) => {
    const merchant = await approvedWith(service, {});
    await changeAccount(service, merchant.linkedAccountId, { status: 'suspended' });
    await service.clock.set(DAY_MS - HOUR_MS);
    await reconcilePayments(service.deps);
    expect(await isRefused(merchant)).toBe(false);
    await service.clock.set(DAY_MS);
    await reconcilePayments(service.deps);
    expect(await isRefused(merchant)).toBe(true);
    expect(await openAlerts(service, merchant)).toEqual([{ state: 'suspended' }]);
    await changeAccount(service, merchant.linkedAccountId, { status: 'created' });
    await service.clock.set(DAY_MS + HOUR_MS);
    await reconcilePayments(service.deps);
    expect(await isRefused(merchant)).toBe(false);
    expect(await openAlerts(service, merchant)).toEqual([]);
  });

  test('raises an alert when the bank account of a ready merchant is no longer verified', async ({
    service,
  }) => {
    const merchant = await approvedWith(service, {});
    await changeAccount(service, merchant.linkedAccountId, { activation: 'verification_failed' });
    await service.clock.set(DAY_MS);
    await reconcilePayments(service.deps);
    expect(await isRefused(merchant)).toBe(true);
    expect(await openAlerts(service, merchant)).toEqual([{ state: 'waiting' }]);
  });

  test('asks for an account that was given while no gateway was configured', async ({
    service,
  }) => {
    const merchant = await service.newMerchant({ webhooks: false });
    const without = { ...service, deps: { ...service.deps, gateways: noGateways } };
    await approve(without, merchant.merchantId, 'acc_Unseen');
    expect([await stateOf(service, merchant), await isRefused(merchant)]).toEqual([
      'unknown',
      false,
    ]);
    await reconcilePayments(service.deps);
    expect([await stateOf(service, merchant), await isRefused(merchant)]).toEqual([
      'missing',
      true,
    ]);
    expect(await openAlerts(service, { linkedAccountId: 'acc_Unseen' })).toEqual([
      { state: 'missing' },
    ]);
  });

  test('concludes nothing while the gateway cannot be asked, and asks again after an hour', async ({
    service,
  }) => {
    const merchant = await approvedWith(service, {});
    await changeAccount(service, merchant.linkedAccountId, { status: 'suspended' });
    const production = { config: service.config, environment: 'production' } as const;
    await simulator(production, 'POST', '/faults', { kind: 'error', path: '/v2/accounts/*' });
    await service.clock.set(DAY_MS);
    await reconcilePayments(service.deps);
    await simulator(production, 'DELETE', '/faults');
    await reconcilePayments(service.deps);
    expect(await stateOf(service, merchant)).toBe('activated');
    await service.clock.set(DAY_MS + HOUR_MS);
    await reconcilePayments(service.deps);
    expect(await stateOf(service, merchant)).toBe('suspended');
  });

  test('does not record its answer for a change that was withdrawn meanwhile', async ({
    service,
  }) => {
    const merchant = await approvedWith(service, {});
    const another = await newAccount(service, { status: 'suspended' });
    await approve(service, merchant.merchantId, another);
    const fetchLinkedAccount = async (id: string) => {
      await approve(service, merchant.merchantId, merchant.linkedAccountId);
      return service.deps.gateways.forOrder(PRODUCTION).fetchLinkedAccount(id);
    };
    const port = { ...service.deps.gateways.forOrder(PRODUCTION), fetchLinkedAccount };
    const gateways = { ...service.deps.gateways, forOrder: () => port };
    await service.clock.set(HOUR_MS);
    await checkLinkedAccounts({ ...service.deps, gateways });
    expect(await requireMerchant(service.sql, merchant.merchantId)).toMatchObject({
      linkedAccounts: { production: merchant.linkedAccountId },
      linkedAccountState: 'activated',
      waitingAccountId: null,
    });
    expect(await openAlerts(service, { linkedAccountId: another })).toEqual([]);
  });
});
