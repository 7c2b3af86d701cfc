import type { InvitedOperator, OperatorRole } from '../../accounts/public.ts';
import {
  createOperator,
  emailKeyOf,
  inviteMerchant,
  readOperatorState,
  resetTwoFactor,
} from '../../accounts/public.ts';
import { changeMerchantStatus, createMerchant } from '../../merchants/commands.ts';
import { createKeyPair, rotateSecret } from '../../merchants/keys/keys.ts';
import { prepareAccountChange } from '../../merchants/linked-accounts.ts';
import type { MerchantRow } from '../../merchants/queries.ts';
import { listMerchants, requireMerchant } from '../../merchants/queries.ts';
import { whyNotReady } from '../../merchants/readiness.ts';
import { checkLinkedAccount } from '../../payments/funds/linked-accounts.ts';
import { GATEWAY_ADAPTERS } from '../../payments/gateway/adapters.ts';
import { hasTwoAdmins, onlyFirstOperators } from '../../proposals/queries.ts';
import { ALONE, ALONE_NOTES, typedAlone } from './break-glass.ts';
import type { CommandResult } from './command.ts';
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
  const shown = presentMerchant(row);
  return { data: { ...shown, warning }, text: blocks(facts(shown), warning) };
}

/** Asks the gateway for the account, which the merchant gets now, or in place of another one later. */
async function prepareAccount(
  service: AdminService,
  merchant: string,
  at: { gateway: string; accountId: string },
) {
  const { publicBaseUrl, durations } = service.config;
  const account = await checkLinkedAccount(await service.gateways(), at.gateway, at.accountId);
  const { linkedAccountChangeMs } = durations;
  const mailBox = service.dataBox();
  const deps = { sql: service.sql, linkedAccountChangeMs, mailBox, publicBaseUrl };
  return prepareAccountChange(deps, merchant, account);
}

const keyCommand = (summary: string, make: typeof createKeyPair) =>
  defineCommand({
    summary,
    options: { merchant: MERCHANT, environment: ENVIRONMENT },
    async run(service, { merchant: merchantId, environment }) {
      const { sql, actor } = service;
      const pair = await make({ sql, actor, pepper: service.pepper() }, merchantId, environment);
      const data = { merchantId, environment, ...pair };
      return { data, text: blocks(facts(data), SHOWN_ONCE) };
    },
  });

export const MERCHANT_COMMANDS = {
  'merchant create': defineCommand({
    summary: 'Register a merchant; it can use the API once it is approved',
    options: {
      name: { value: 'NAME', help: 'What buyers see', required: true },
      email: { value: 'EMAIL', help: 'Where to reach the merchant', required: true },
    },
    run: async ({ sql, actor }, merchant) =>
      merchantResult(await createMerchant({ sql, actor }, merchant)),
  }),
  'merchant list': defineCommand({
    summary: 'List merchants, the newest first',
    options: { status: { help: 'Only this status', choices: STATUSES } },
    async run({ sql }, { status }) {
      const merchants = await listMerchants(sql, status);
      const names = ['merchantId', 'status', 'name', 'email', 'production'] as const;
      const rows = merchants.map((row) => ({ ...row, production: reasonOf(row) ?? 'ready' }));
      return { data: merchants.map(presentMerchant), text: list(rows, names) };
    },
  }),
  'merchant approve': defineCommand({
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
      ...ALONE,
    },
    async run(service, { merchant, 'linked-account': accountId, gateway, ...typed }) {
      const { sql } = service;
      const actAlone = typedAlone(service, 'merchant approve', typed);
      const before = await requireMerchant(sql, merchant);
      const linkedAccount =
        accountId === undefined
          ? undefined
          : await prepareAccount(service, merchant, {
              gateway: gateway ?? before.gateway,
              accountId,
            });
      // For an approved merchant it sets an account or a gateway.
      const kind = before.status === 'APPROVED' ? 'merchant.linkedAccount' : 'merchant.approve';
      const by = { sql, ...(await actAlone({ kind, subject: merchant, merchantId: merchant })) };
      const details = { linkedAccount, gateway };
      return merchantResult(await changeMerchantStatus(by, merchant, 'approve', details));
    },
  }),
  'merchant suspend': defineCommand({
    summary: 'Suspend a merchant: its API answers 403, its releases wait',
    options: { merchant: MERCHANT, reason: { value: 'TEXT', help: 'Why, for the audit log' } },
    run: async ({ sql, actor }, { merchant, reason }) =>
      merchantResult(await changeMerchantStatus({ sql, actor }, merchant, 'suspend', { reason })),
  }),
  'merchant activate': defineCommand({
    summary: 'End a suspension',
    notes: ALONE_NOTES,
    options: { merchant: MERCHANT, ...ALONE },
    async run(service, { merchant, ...typed }) {
      const { sql } = service;
      const actAlone = typedAlone(service, 'merchant activate', typed);
      const { merchantId } = await requireMerchant(sql, merchant);
      const act = { kind: 'merchant.activate', subject: merchantId, merchantId } as const;
      const by = { sql, ...(await actAlone(act)) };
      return merchantResult(await changeMerchantStatus(by, merchant, 'activate'));
    },
  }),
  'key create': keyCommand('Create the API key and secret of an approved merchant', createKeyPair),
  'key rotate': keyCommand(
    'Replace the secret: the old one is 401 immediately, the key stays',
    rotateSecret,
  ),
};

const ROLES = ['support', 'finance', 'admin'] as const satisfies readonly OperatorRole[];

const LINK_HELP =
  'The link works once, for 24 hours. Give it only to the person it is for: it sets the password.';
const MAILED = 'The link is in a mail to this address. It works once, for 24 hours.';

const depsOf = ({ sql, actor, config }: AdminService) => ({
  sql,
  actor,
  publicBaseUrl: config.publicBaseUrl,
});

/** The terminal shows the link of an operator only where {@link createOperator} returns it. */
function invitationResult(invited: Omit<InvitedOperator, 'mail'>): CommandResult {
  const { userId, email, link } = invited;
  const data = { userId, email, link };
  return { data, text: blocks(facts(data), link === null ? MAILED : LINK_HELP) };
}

export const OPERATOR_COMMANDS = {
  'merchant invite': defineCommand({
    summary: 'Print the link with which a merchant gets its first user',
    options: { merchant: MERCHANT },
    run: async (service, { merchant }) =>
      invitationResult(await inviteMerchant(depsOf(service), merchant)),
  }),
  'operator create': defineCommand({
    summary: 'Invite an operator: mails the link that sets the password',
    notes: `support sees everything, retries, and raises disputes for buyers; finance also decides disputes, refunds and
settles; admin also reviews merchants and manages operators. An operator who is disabled, or has not accepted an
invitation, is invited anew. The link is printed, and not mailed, until an admin has ever confirmed a second factor: the
first operators are made before mails can be sent. Two-factor authentication is set up after the password. Until two admins have ever
confirmed a second factor, it needs no other operator. ${ALONE_NOTES}`,
    options: {
      email: { value: 'EMAIL', help: "The operator's e-mail address", required: true },
      role: {
        help: 'What the operator may do; admin may do everything',
        choices: ROLES,
        required: true,
      },
      ...ALONE,
    },
    async run(service, { email, role, ...typed }) {
      const { sql } = service;
      const deps = { ...depsOf(service), mailBox: service.dataBox() };
      const invite = async (by: Parameters<typeof createOperator>[0]) =>
        invitationResult(await createOperator(by, { email, role }));
      if (!typed['break-glass'] && !(await hasTwoAdmins(sql))) {
        return invite({ ...deps, alongside: onlyFirstOperators });
      }
      const actAlone = typedAlone(service, 'operator create', typed);
      const subject = emailKeyOf(email);
      const { state } = await readOperatorState(sql, subject);
      const kind = state === 'DISABLED' ? 'operator.reactivate' : 'operator.create';
      return invite({ ...deps, ...(await actAlone({ kind, subject })) });
    },
  }),
  'operator reset-two-factor': defineCommand({
    summary: 'Remove the two-factor authentication of a user who has lost the device',
    notes: `Also for the user of a merchant. The user's sessions end, and a mail reports it. An operator has to set
two-factor authentication up again at the next login. Be sure that the person is who they say. For an operator:
${ALONE_NOTES}`,
    options: {
      email: { value: 'EMAIL', help: "The user's e-mail address", required: true },
      ...ALONE,
    },
    async run(service, { email, ...typed }) {
      const subject = emailKeyOf(email);
      const { role } = await readOperatorState(service.sql, subject);
      const actAlone = role !== null && typedAlone(service, 'operator reset-two-factor', typed);
      const by = actAlone && (await actAlone({ kind: 'operator.reset', subject }));
      await resetTwoFactor({ ...depsOf(service), mailBox: service.dataBox(), ...by }, email);
      return { data: { email }, text: `${email} logs in without a code until it is set up again.` };
    },
  }),
};
