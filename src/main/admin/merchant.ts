import { changeMerchantStatus, createMerchant } from '../../merchants/commands.ts';
import { createKeyPair, rotateSecret } from '../../merchants/keys.ts';
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
  const data = { ...presentMerchant(row), warning };
  return { data, text: blocks(facts(presentMerchant(row)), warning) };
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
      const names = ['merchantId', 'status', 'name', 'email', 'production'] as const;
      const rows = merchants.map((row) => ({ ...row, production: reasonOf(row) ?? 'ready' }));
      const text = list(rows, names);
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
      return merchantResult(await changeMerchantStatus(by, merchant, 'approve', details));
    },
  }),
  defineCommand({
    name: 'merchant suspend',
    summary: 'Suspend a merchant: its API answers 403, its releases wait',
    options: { merchant: MERCHANT, reason: { value: 'TEXT', help: 'Why, for the audit log' } },
    run: async ({ sql, actor }, { merchant, reason }) =>
      merchantResult(await changeMerchantStatus({ sql, actor }, merchant, 'suspend', { reason })),
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
      return merchantResult(await changeMerchantStatus(by, merchant, 'activate'));
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
      return { data, text: blocks(facts(data), SHOWN_ONCE) };
    },
  }),
);

/** The commands for merchants and their keys. */
export const MERCHANT_COMMANDS: readonly AdminCommand[] = [...merchantCommands, ...keyCommands];
