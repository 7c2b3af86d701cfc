import type { z } from 'zod';
import type { Actor } from '../db/actor.ts';
import type { Alongside } from '../db/alongside.ts';
import type { Before, Change, Parameters, Proposal, ProposalDeps } from './context.ts';

/** What carrying a proposal out needs. */
export interface CarryOutDeps extends ProposalDeps {
  /** The operator who approved it. */
  actor: Actor;
  /** Records in the statement of the change that the proposal is carried out. */
  alongside: Alongside;
}

/** What a proposal of a kind is about, what it does, and when it may be done. */
export interface KindRules<Given extends Parameters = Parameters> {
  /** The act, as the title of its proposal. */
  readonly title: string;
  readonly about: 'order' | 'merchant' | 'operator';
  readonly parameters: z.ZodType<Given>;
  readonly maxReasonLength: number;
  /**
   * Reads what the approver has to see. The approval, and later the act, is refused if it is no longer the same.
   *
   * @throws DomainError if the act is not possible now
   */
  readonly readBefore: (
    deps: ProposalDeps,
    proposal: Pick<Proposal, 'subject' | 'reason'>,
    parameters: Given,
  ) => Promise<Before>;
  /** Whether a process has begun the act before: then a repeat ends it, and nothing is compared any more. */
  readonly hasBegun?: (deps: ProposalDeps, proposal: Proposal) => Promise<boolean>;
  /** What will be different. */
  readonly changes: (before: Before, parameters: Given) => readonly Change[];
  /** @throws DomainError if it is not possible any more */
  readonly carryOut: (
    deps: CarryOutDeps,
    proposal: Proposal,
    parameters: Given,
  ) => Promise<unknown>;
}

/** Declares a kind: its functions get what its schema has parsed. */
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
