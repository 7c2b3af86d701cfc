import { listActiveOperators, rolesFor } from '../accounts/public.ts';
import { clearAlert, raiseAlert } from '../alerts/alerts.ts';
import { sendMail } from '../mail/public.ts';
import { deadlineOf, findOrderAnywhere } from '../orders/public.ts';
import type { Proposal, ProposalDeps } from './context.ts';
import { rulesOf } from './kinds.ts';
import { deadlineMail } from './mails.ts';
import { findUnwarned, findWarnedAndEnded, markWarned, readClock } from './queries.ts';

const NEAR_MS = 24 * 3_600_000;

export type WarningDeps = Pick<ProposalDeps, 'sql' | 'log' | 'mailBox' | 'mails' | 'publicBaseUrl'>;

/**
 * Warns once about each open proposal whose order has a deadline within 24 hours, by an alert and by mails to
 * everyone who may approve it. A proposal stops no deadline.
 */
export async function warnOfDeadlines(deps: WarningDeps): Promise<{ warned: number }> {
  const { sql } = deps;
  const now = await readClock(sql);
  let warned = 0;
  for (const proposal of await findUnwarned(sql)) {
    const deadline = await deadlineOfProposal(deps, proposal);
    if (deadline === null || deadline.getTime() - now.getTime() > NEAR_MS) continue;
    await warn(deps, proposal, deadline);
    warned += 1;
  }
  for (const proposalId of await findWarnedAndEnded(sql)) {
    await clearAlert(sql, 'proposal_near_deadline', proposalId, 'the proposal has ended');
  }
  return { warned };
}

/** The deadline of a proposal's order. Null without an order or a deadline. */
export async function deadlineOfProposal(
  { sql }: Pick<ProposalDeps, 'sql'>,
  { orderNumber }: Pick<Proposal, 'orderNumber'>,
): Promise<Date | null> {
  return orderNumber === null ? null : deadlineOf(await findOrderAnywhere(sql, orderNumber));
}

/**
 * A repeat after a process has died writes no mail again, because a mail's id follows from its proposal and its
 * reader.
 */
async function warn(deps: WarningDeps, proposal: Proposal, deadline: Date): Promise<void> {
  const { proposalId, kind, orderNumber, proposedBy } = proposal;
  const { sql, publicBaseUrl } = deps;
  const { title } = rulesOf(kind);
  for (const { userId, email } of await listActiveOperators(sql, rolesFor(kind))) {
    if (userId === proposedBy) continue;
    const mail = deadlineMail(email, proposal, { title, deadline, publicBaseUrl });
    await sendMail(deps, { mailId: `${proposalId}-${userId}`, ...mail });
  }
  await raiseAlert(deps, {
    kind: 'proposal_near_deadline',
    subject: proposalId,
    message: `A proposal waits, and the deadline of its order is near: ${title}`,
    fields: { orderNumber, deadline: deadline.toISOString() },
  });
  await markWarned(sql, proposalId);
}
