import type { z } from 'zod';
import type { Actor } from '../db/actor.ts';
import type { Alongside } from '../db/client.ts';
import type { Before, Change, Parameters, Proposal, ProposalDeps } from './context.ts';

export interface CarryOutDeps extends ProposalDeps {
  /** The operator who approved it. */
  actor: Actor;
  /** Part of the statement that makes the change: records that the proposal is carried out. */
  alongside: Alongside;
}

/** The rules of a kind of proposal. */
export interface KindRules<Given extends Parameters = Parameters> {
  /** The act, as the title of its proposal. */
  readonly title: string;
  readonly about: 'order' | 'merchant' | 'operator';
  readonly parameters: z.ZodType<Given>;
  readonly maxReasonLength: number;
  /**
   * Reads the facts that the approver has to see. If they have changed, the approval, and later the act, is refused.
   *
   * @throws DomainError if the act is not possible now
   */
  readonly readBefore: (
    deps: ProposalDeps,
    proposal: Pick<Proposal, 'subject' | 'reason'>,
    parameters: Given,
  ) => Promise<Before>;
  /**
   * True if the facts need no comparison: an earlier process has begun the act, which a repeat finishes, or the act
   * compares its own parts.
   */
  readonly needsNoComparison?: (deps: ProposalDeps, proposal: Proposal) => Promise<boolean>;
  readonly changes: (before: Before, parameters: Given) => readonly Change[];
  /** @throws DomainError if it is not possible any more */
  readonly carryOut: (
    deps: CarryOutDeps,
    proposal: Proposal,
    parameters: Given,
  ) => Promise<unknown>;
}

/** Declares a kind. Its functions get the parameters as its schema has parsed them. */
export function defineKind<Given extends Parameters>(rules: KindRules<Given>): KindRules {
  const { parameters } = rules;
  return {
    ...rules,
    readBefore: (deps, proposal, given) =>
      rules.readBefore(deps, proposal, parameters.parse(given)),
    changes: (before, given) => rules.changes(before, parameters.parse(given)),
    carryOut: (deps, proposal, given) => rules.carryOut(deps, proposal, parameters.parse(given)),
  };
}
