import { clearAlert, raiseAlert } from '../alerts/alerts.ts';
import type { Actor } from '../db/actor.ts';
import { isFinalRefusal } from '../payments/public.ts';
import type { Proposal, ProposalDeps } from './context.ts';
import { rulesOf } from './kinds.ts';
import { assertMayBegin } from './still-true.ts';
import {
  findUnfinished,
  finishing,
  finishProposal,
  orRefusal,
  requireProposal,
} from './queries.ts';

/** The result of an approved proposal. `waiting`: the sweep tries again. */
export type CarriedOut =
  | { outcome: 'done' }
  | { outcome: 'waiting'; reason: string }
  | { outcome: 'refused'; reason: string };

/**
 * Carries out an approved proposal once: the statement of the change records it, and a command of an order has the
 * proposal's id. So a repeat after a process has died does nothing twice.
 *
 * @param actor the operator who approved it
 */
export async function carryOutProposal(
  deps: ProposalDeps,
  proposal: Proposal,
  actor: Actor,
): Promise<CarriedOut> {
  const { sql, log } = deps;
  const { proposalId, kind, parameters } = proposal;
  const rules = rulesOf(kind);
  try {
    const alongside = finishing(proposalId);
    await assertMayBegin(deps, proposal);
    await orRefusal(() => rules.carryOut({ ...deps, actor, alongside }, proposal, parameters));
    await finishProposal(sql, proposalId, 'done');
    return { outcome: 'done' };
  } catch (error) {
    // Another process has carried it out at the same moment.
    if ((await requireProposal(sql, proposalId)).outcome === 'done') return { outcome: 'done' };
    if (isFinalRefusal(error)) {
      await finishProposal(sql, proposalId, error.message);
      return { outcome: 'refused', reason: error.message };
    }
    log.warn({ err: error, proposalId, kind }, 'A proposal is not carried out yet');
    return { outcome: 'waiting', reason: error instanceof Error ? error.message : String(error) };
  }
}

const NOT_CARRIED_OUT = 'proposal_not_carried_out';

/**
 * Carries out approved proposals that are not done, because a process has died or the gateway was unavailable.
 *
 * @param olderThanMs the minimum time since the approval, during which the API may still be working
 */
export async function carryOutUnfinished(
  deps: ProposalDeps,
  olderThanMs: number,
): Promise<{ carriedOut: number }> {
  const unfinished = await findUnfinished(deps.sql, olderThanMs);
  let carriedOut = 0;
  for (const proposal of unfinished) {
    const { proposalId, kind, subject, decidedByEmail } = proposal;
    const actor = { name: `operator:${decidedByEmail}`, address: null };
    const result = await carryOutProposal(deps, proposal, actor);
    if (result.outcome === 'done') {
      carriedOut += 1;
      await clearAlert(deps.sql, NOT_CARRIED_OUT, proposalId, 'the proposal is finished');
    } else {
      // No operator waits for the answer of the sweep: the alert about a refusal stays until one clears it.
      const how = result.outcome === 'waiting' ? 'not carried out' : 'refused';
      const message = `A proposal is approved and ${how}: ${kind} of ${subject}`;
      const error = new Error(result.reason);
      await raiseAlert(deps, { kind: NOT_CARRIED_OUT, subject: proposalId, message, error });
    }
  }
  return { carriedOut };
}
