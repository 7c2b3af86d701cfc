import type { Invitation, InvitedOperator, OperatorRole } from '../../accounts/public.ts';
import {
  createOperator,
  emailKeyOf,
  inviteMerchant,
  readOperatorState,
  resetTwoFactor,
} from '../../accounts/public.ts';
import { hasTwoAdmins, onlyFirstOperators } from '../../proposals/queries.ts';
import { ALONE, ALONE_NOTES, actAlone, assertAlone, REASON_ALONE } from './break-glass.ts';
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
  const data = { userId, email, link };
  return { data, text: blocks(facts(data), LINK_HELP) };
}

const MAILED = 'The link is in a mail to this address. It works once, for 24 hours.';

/** The terminal shows a link only where {@link createOperator} returns it. */
function operatorResult({ userId, email, link }: InvitedOperator): CommandResult {
  if (link !== null) return invitationResult({ userId, email, link });
  const data = { userId, email, link };
  return { data, text: blocks(facts(data), MAILED) };
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
    reason: REASON_ALONE,
    ...ALONE,
  },
  async run(service, { email, role, ...alone }) {
    const deps = { ...depsOf(service), mailBox: service.dataBox() };
    const operator = { email, role };
    const { sql } = service;
    if (!alone['break-glass'] && !(await hasTwoAdmins(sql))) {
      const first = { ...deps, alongside: onlyFirstOperators };
      return operatorResult(await createOperator(first, operator));
    }
    assertAlone('operator create', alone);
    const subject = emailKeyOf(email);
    const { state } = await readOperatorState(sql, subject);
    const kind = state === 'DISABLED' ? 'operator.reactivate' : 'operator.create';
    const by = await actAlone(service, alone.as, { kind, subject, reason: alone.reason });
    return operatorResult(await createOperator({ ...deps, ...by }, operator));
  },
});

const resetCommand = defineCommand({
  name: 'operator reset-two-factor',
  summary: 'Remove the two-factor authentication of a user who has lost the device',
  notes: `Also for the user of a merchant. The user's sessions end, and a mail reports it. An operator has to set
two-factor authentication up again at the next login. Be sure that the person is who they say. For an operator:
${ALONE_NOTES}`,
  options: {
    email: { value: 'EMAIL', help: "The user's e-mail address", required: true },
    reason: REASON_ALONE,
    ...ALONE,
  },
  async run(service, { email, ...alone }) {
    const subject = emailKeyOf(email);
    const { role } = await readOperatorState(service.sql, subject);
    if (role !== null) assertAlone('operator reset-two-factor', alone);
    const by =
      role === null
        ? {}
        : await actAlone(service, alone.as ?? '', {
            kind: 'operator.reset',
            subject,
            reason: alone.reason ?? '',
          });
    await resetTwoFactor({ ...depsOf(service), mailBox: service.dataBox(), ...by }, email);
    return { data: { email }, text: `${email} logs in without a code until it is set up again.` };
  },
});

/** The commands that give someone access to the dashboard. */
export const OPERATOR_COMMANDS: readonly AdminCommand[] = [
  inviteCommand,
  createCommand,
  resetCommand,
];
