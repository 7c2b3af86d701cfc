import type { Change, Proposal } from './context.ts';
import { rulesOf } from './kinds.ts';

/** The act, in a few words. */
export const titleOf = ({ kind }: Pick<Proposal, 'kind'>): string => rulesOf(kind).title;

/** What will be different once a proposal is carried out, compared with what was true when it was made. */
export const changesOf = ({ kind, before, parameters }: Proposal): readonly Change[] =>
  rulesOf(kind).changes(before, parameters);
