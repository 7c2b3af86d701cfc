import type { Invitation, OperatorRole } from '../../accounts/public.ts';
import { createOperator, inviteMerchant, resetTwoFactor } from '../../accounts/public.ts';
import { sendMail } from '../../mail/public.ts';
import type { AdminCommand, CommandResult } from './command.ts';
import { defineCommand, MERCHANT } from './command.ts';
import type { AdminService } from './service.ts';
import { blocks, facts } from './text.ts';

const ROLES = ['support', 'finance', 'admin'] as const satisfies readonly OperatorRole[];

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

const inviteCommand = defineCommand({
  name: 'merchant invite',
  summary: 'Print the link with which a merchant gets its first user',
  options: { merchant: MERCHANT },
  run: async (service, { merchant }) =>
    invitationResult(await inviteMerchant(depsOf(service), merchant)),
});

const createCommand = defineCommand({
  name: 'operator create',
  summary: 'Invite an operator: prints the link that sets the password',
  notes: `support sees everything, retries, and raises disputes for buyers; finance also decides disputes, refunds and
settles; admin also reviews merchants and manages operators. An operator who is disabled, or has not accepted an
invitation, is invited anew. Two-factor authentication is set up after the password.`,
  options: {
    email: { value: 'EMAIL', help: "The operator's e-mail address", required: true },
    role: {
      help: 'What the operator may do; admin may do everything',
      choices: ROLES,
      required: true,
    },
  },
  run: async (service, operator) =>
    invitationResult(await createOperator(depsOf(service), operator)),
});

const resetCommand = defineCommand({
  name: 'operator reset-two-factor',
  summary: 'Remove the two-factor authentication of a user who has lost the device',
  notes: `Also for the user of a merchant. The user's sessions end, and a mail reports it. An operator has to set
two-factor authentication up again at the next login. Be sure that the person is who they say.`,
  options: { email: { value: 'EMAIL', help: "The user's e-mail address", required: true } },
  async run(service, { email }) {
    const mails = await service.mails();
    await resetTwoFactor({ ...depsOf(service), sendMail: (mail) => sendMail(mails, mail) }, email);
    return { data: { email }, text: `${email} logs in without a code until it is set up again.` };
  },
});

/** The commands that give someone access to the dashboard. */
export const OPERATOR_COMMANDS: readonly AdminCommand[] = [
  inviteCommand,
  createCommand,
  resetCommand,
];
