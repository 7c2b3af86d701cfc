import type { Change, Proposal } from './context.ts';
import { rulesOf } from './kinds.ts';

export const titleOf = ({ kind }: Pick<Proposal, 'kind'>): string => rulesOf(kind).title;

/** What a proposal will change, compared with the facts when it was made. */
export const changesOf = ({ kind, before, parameters }: Proposal): readonly Change[] =>
  rulesOf(kind).changes(before, parameters);
