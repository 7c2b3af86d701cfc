import type { Alongside } from '../../db/alongside.ts';
import type { StatusChange, StatusDetails } from '../../merchants/commands.ts';
import { changeMerchantStatus, createMerchant } from '../../merchants/commands.ts';
import { createKeyPair, listKeys, rotateSecret } from '../../merchants/keys.ts';
import { findOrigins, setOrigins } from '../../merchants/origins.ts';
import { prepareAccountChange } from '../../merchants/linked-accounts.ts';
import type { MerchantRow } from '../../merchants/queries.ts';
import { listMerchants, requireMerchant } from '../../merchants/queries.ts';
import { whyNotReady } from '../../merchants/readiness.ts';
import type { ProposalKind } from '../../proposals/context.ts';
import { GATEWAY_ADAPTERS } from '../../payments/gateway/adapters.ts';
import type { CheckedAccount } from '../../payments/funds/linked-accounts.ts';
import { checkLinkedAccount } from '../../payments/funds/linked-accounts.ts';
import { ALONE, ALONE_NOTES, actAlone, assertAlone, REASON_ALONE } from './break-glass.ts';
import type { AdminCommand, CommandResult } from './command.ts';
import { defineCommand, ENVIRONMENT, MERCHANT } from './command.ts';
import type { AdminService } from './service.ts';
import { blocks, facts, list, timeText } from './text.ts';

const SHOWN_ONCE = 'The secret is shown only once: store it on your server.';

const GATEWAYS = GATEWAY_ADAPTERS.map(({ name }) => name);

const STATUSES = ['PENDING', 'APPROVED', 'REJECTED', 'SUSPENDED'] as const;

const presentMerchant = (row: MerchantRow) => ({
  merchantId: row.merchantId,
  name: row.name,
  email: row.email,
  status: row.status,
  statusReason: row.statusReason,
  gateway: row.gateway,
  linkedAccounts: row.linkedAccounts,
  waitingAccountId: row.waitingAccountId,
  waitingUntil: row.waitingUntil,
  linkedAccountState: row.linkedAccountState,
  transfersFrom: row.transfersFrom,
  isReady: row.isReady,
  createdAt: row.createdAt,
});

/** Why the merchant cannot take payments in production; null if it can. */
function reasonOf(row: MerchantRow): string | null {
  const why = whyNotReady(row);
  return why && why.reason + (why.until ? `, until ${timeText(why.until)}` : '');
}

function merchantResult(row: MerchantRow): CommandResult {
  const reason = row.status === 'APPROVED' ? reasonOf(row) : null;
  const warning =
    reason && `The merchant is not ready: production orders cannot be created, because ${reason}`;
  const text = facts({
    Merchant: row.merchantId,
    Name: row.name,
    'E-mail': row.email,
    Status: row.status,
    Reason: row.statusReason ?? undefined,
    Gateway: row.gateway,
    'Linked account': row.linkedAccounts.production,
    'Changes to': row.waitingAccountId ?? undefined,
    'Active from': row.waitingUntil ?? undefined,
    'Account state': row.linkedAccountState ?? undefined,
    Created: row.createdAt,
  });
  return { data: { ...presentMerchant(row), warning }, text: blocks(text, warning) };
}

async function change(
  { sql, actor, alongside }: Pick<AdminService, 'sql' | 'actor'> & { alongside?: Alongside },
  kind: StatusChange,
  merchant: string,
  details: StatusDetails = {},
): Promise<MerchantRow> {
  return changeMerchantStatus({ sql, actor, alongside }, merchant, kind, details);
}

/** The kind of an approval of the command line: for an approved merchant it sets an account or a gateway. */
const kindOfApproval = ({ status }: MerchantRow): ProposalKind =>
  status === 'APPROVED' ? 'merchant.linkedAccount' : 'merchant.approve';

function changeTo(service: AdminService, merchant: string, account: CheckedAccount) {
  const { sql, config } = service;
  const { linkedAccountChangeMs } = config.durations;
  const mailDeps = { mailBox: service.dataBox(), publicBaseUrl: config.publicBaseUrl };
  return prepareAccountChange({ sql, linkedAccountChangeMs, ...mailDeps }, merchant, account);
}

const merchantCommands = [
  defineCommand({
    name: 'merchant create',
    summary: 'Register a merchant; it can use the API once it is approved',
    options: {
      name: { value: 'NAME', help: 'What buyers see', required: true },
      email: { value: 'EMAIL', help: 'Where to reach the merchant', required: true },
    },
    run: async ({ sql, actor }, merchant) =>
      merchantResult(await createMerchant({ sql, actor }, merchant)),
  }),
  defineCommand({
    name: 'merchant list',
    summary: 'List merchants, the newest first',
    options: { status: { help: 'Only this status', choices: STATUSES } },
    async run({ sql }, { status }) {
      const merchants = await listMerchants(sql, status);
      const text = list(merchants, {
        MERCHANT: (row) => row.merchantId,
        STATUS: (row) => row.status,
        NAME: (row) => row.name,
        'E-MAIL': (row) => row.email,
        PRODUCTION: (row) => reasonOf(row) ?? 'ready',
      });
      return { data: merchants.map(presentMerchant), text };
    },
  }),
  defineCommand({
    name: 'merchant approve',
    summary: 'Approve a merchant, or set the linked account of an approved one',
    notes: `The sandbox creates linked accounts automatically. In production the gateway is asked for the account:
one that it does not have is refused. A merchant without an account, or whose account receives no transfers
yet, cannot create orders: the API answers 403. The service asks again every hour. An account that replaces
another one is active after LINKED_ACCOUNT_CHANGE_SECONDS; the old one given again withdraws it.
${ALONE_NOTES}`,
    options: {
      merchant: MERCHANT,
      'linked-account': { value: 'ID', help: 'Where the gateway pays out in production (acc_…)' },
      gateway: {
        help: 'The payment gateway of its new orders; existing orders keep theirs',
        choices: GATEWAYS,
      },
      reason: REASON_ALONE,
      ...ALONE,
    },
    async run(service, { merchant, 'linked-account': linkedAccountId, gateway, ...alone }) {
      assertAlone('merchant approve', alone);
      const { as, reason } = alone;
      const before = await requireMerchant(service.sql, merchant);
      const linkedAccount =
        linkedAccountId === undefined
          ? undefined
          : await changeTo(
              service,
              merchant,
              await checkLinkedAccount(
                await service.gateways(),
                gateway ?? before.gateway,
                linkedAccountId,
              ),
            );
      const kind = kindOfApproval(before);
      const act = { kind, subject: merchant, merchantId: merchant, reason };
      const by = { sql: service.sql, ...(await actAlone(service, as, act)) };
      const details = { linkedAccount, gateway };
      return merchantResult(await change(by, 'approve', merchant, details));
    },
  }),
  defineCommand({
    name: 'merchant suspend',
    summary: 'Suspend a merchant: its API answers 403, its releases wait',
    options: { merchant: MERCHANT, reason: { value: 'TEXT', help: 'Why, for the audit log' } },
    run: async (service, { merchant, reason }) =>
      merchantResult(await change(service, 'suspend', merchant, { reason })),
  }),
  defineCommand({
    name: 'merchant activate',
    summary: 'End a suspension',
    notes: ALONE_NOTES,
    options: { merchant: MERCHANT, reason: REASON_ALONE, ...ALONE },
    async run(service, { merchant, ...alone }) {
      assertAlone('merchant activate', alone);
      const { as, reason } = alone;
      const { merchantId } = await requireMerchant(service.sql, merchant);
      const act = { kind: 'merchant.activate', subject: merchantId, merchantId, reason } as const;
      const by = { sql: service.sql, ...(await actAlone(service, as, act)) };
      return merchantResult(await change(by, 'activate', merchant));
    },
  }),
];

const keyCommands = (['create', 'rotate'] as const).map((action) =>
  defineCommand({
    name: `key ${action}`,
    summary:
      action === 'create'
        ? 'Create the API key and secret of an approved merchant'
        : 'Replace the secret: the old one is 401 immediately, the key stays',
    options: { merchant: MERCHANT, environment: ENVIRONMENT },
    async run(service, { merchant, environment }) {
      const { sql, actor } = service;
      const deps = { sql, actor, pepper: service.pepper() };
      const make = action === 'create' ? createKeyPair : rotateSecret;
      const data = {
        merchantId: merchant,
        environment,
        ...(await make(deps, merchant, environment)),
      };
      const text = facts({
        Merchant: merchant,
        Environment: environment,
        'X-API-Key': data.apiKey,
        'X-API-Secret': data.apiSecret,
      });
      return { data, text: blocks(text, SHOWN_ONCE) };
    },
  }),
);

const listKeysCommand = defineCommand({
  name: 'key list',
  summary: "List a merchant's keys, without their secrets",
  options: { merchant: MERCHANT },
  async run({ sql }, { merchant }) {
    const data = await listKeys(sql, merchant);
    const text = list(data, {
      ENVIRONMENT: (key) => key.environment,
      'API KEY': (key) => key.apiKey,
      CREATED: (key) => key.createdAt,
      'SECRET ROTATED': (key) => key.rotatedAt,
      'LAST USED': (key) => key.lastUsedAt,
    });
    return { data, text };
  },
});

function originsResult(merchantId: string, environment: string, origins: string[]): CommandResult {
  const none = 'No list: requests from every origin are allowed.';
  return {
    data: { merchantId, environment, origins },
    text: origins.length === 0 ? none : origins.join('\n'),
  };
}

const originCommands = [
  defineCommand({
    name: 'origins set',
    summary: 'Set the origins that browsers may call the API from; none allows all',
    options: {
      merchant: MERCHANT,
      environment: ENVIRONMENT,
      origins: { value: 'A,B', help: 'https://shop.example.com or a domain', required: true },
    },
    async run({ sql, actor }, { merchant, environment, origins }) {
      const wanted = origins.split(',').filter((origin) => origin.trim() !== '');
      const saved = await setOrigins({ sql, actor }, merchant, environment, wanted);
      return originsResult(merchant, environment, saved);
    },
  }),
  defineCommand({
    name: 'origins show',
    summary: 'Show the allowed origins',
    options: { merchant: MERCHANT, environment: ENVIRONMENT },
    run: async ({ sql }, { merchant, environment }) =>
      originsResult(merchant, environment, await findOrigins(sql, merchant, environment)),
  }),
];

/** The commands for merchants, their keys and their origins. */
export const MERCHANT_COMMANDS: readonly AdminCommand[] = [
  ...merchantCommands,
  ...keyCommands,
  listKeysCommand,
  ...originCommands,
];
