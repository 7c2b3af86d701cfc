import type { Invitation, OperatorRole } from '../../accounts/public.ts';
import {
  changeOperatorRole,
  createOperator,
  disableOperator,
  inviteMerchant,
  listOperators,
  resetTwoFactor,
} from '../../accounts/public.ts';
import { sendMail } from '../../mail/public.ts';
import type { AdminCommand, CommandResult } from './command.ts';
import { defineCommand, MERCHANT } from './command.ts';
import type { AdminService } from './service.ts';
import { blocks, facts, table } from './text.ts';

const ROLES = ['support', 'finance', 'admin'] as const satisfies readonly OperatorRole[];
const EMAIL = { value: 'EMAIL', help: "The operator's e-mail address", required: true } as const;
const ROLE = {
  value: ROLES.join('|'),
  help: 'What the operator may do; admin may do everything',
  choices: ROLES,
  required: true,
} as const;

const LINK_HELP =
  'The link works once, for 24 hours. Give it only to the person it is for: it sets the password.';

const depsOf = ({ sql, actor, config }: AdminService) => ({
  sql,
  actor,
  publicBaseUrl: config.publicBaseUrl,
});

function invitationResult({ userId, email, link }: Invitation): CommandResult {
  const text = facts({ User: userId, 'E-mail': email, Link: link });
  return { data: { userId, email, link }, text: blocks(text, LINK_HELP) };
}

const operatorCommands = [
  defineCommand({
    name: 'operator create',
    summary: 'Invite an operator to the dashboard, and print the link that sets the password',
    notes: `support sees everything, retries, and raises disputes for buyers; finance also decides disputes, refunds and
settles; admin also reviews merchants and manages operators. An operator who is disabled, or has not accepted an
invitation, is invited anew. Two-factor authentication is set up after the password.`,
    options: { email: EMAIL, role: ROLE },
    run: async (service, { email, role }) =>
      invitationResult(await createOperator(depsOf(service), { email, role })),
  }),
  defineCommand({
    name: 'operator list',
    summary: 'List the operators',
    options: {},
    async run({ sql }) {
      const data = await listOperators({ sql });
      const rows = data.map((one) => [
        one.email,
        one.role,
        one.state,
        one.createdAt,
        one.lastSeenAt,
      ]);
      return { data, text: table(['E-MAIL', 'ROLE', 'STATE', 'CREATED', 'LAST SEEN'], rows) };
    },
  }),
  defineCommand({
    name: 'operator role',
    summary: 'Change what an operator may do, from the next request on',
    options: { email: EMAIL, role: ROLE },
    async run(service, { email, role }) {
      await changeOperatorRole(depsOf(service), email, role);
      return { data: { email, role }, text: `${email} is ${role} now.` };
    },
  }),
  defineCommand({
    name: 'operator disable',
    summary: "End an operator's sessions, and refuse every login",
    options: { email: EMAIL },
    async run(service, { email }) {
      await disableOperator(depsOf(service), email);
      return { data: { email }, text: `${email} can no longer log in.` };
    },
  }),
  defineCommand({
    name: 'operator reset-two-factor',
    summary: 'Remove the two-factor authentication of a user who has lost the device',
    notes: `Also for the user of a merchant. The user's sessions end, and a mail reports it. An operator has to set
two-factor authentication up again at the next login. Be sure that the person is who they say.`,
    options: { email: { ...EMAIL, help: "The user's e-mail address" } },
    async run(service, { email }) {
      const mails = await service.mails();
      await resetTwoFactor(
        { ...depsOf(service), sendMail: (mail) => sendMail(mails, mail) },
        email,
      );
      return { data: { email }, text: `${email} logs in without a code until it is set up again.` };
    },
  }),
];

const inviteCommand = defineCommand({
  name: 'merchant invite',
  summary:
    'Print a link with which a merchant that was registered here gets a user of the dashboard',
  options: { merchant: MERCHANT },
  run: async (service, { merchant }) =>
    invitationResult(await inviteMerchant(depsOf(service), merchant)),
});

/** The commands for users of the dashboard. */
export const OPERATOR_COMMANDS: readonly AdminCommand[] = [inviteCommand, ...operatorCommands];
