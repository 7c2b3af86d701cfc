import type { Change, Proposal, ProposalKind } from './context.ts';
import type { KindRules } from './kind-rules.ts';
import { activate, approve, linkedAccount } from './kinds-of-merchants.ts';
import { create, disable, reactivate, resetSecondFactor, role } from './kinds-of-operators.ts';
import { decide, refund, settle } from './kinds-of-orders.ts';

export const KINDS = {
  'merchant.linkedAccount': linkedAccount,
  'merchant.approve': approve,
  'merchant.activate': activate,
  'order.settle': settle,
  'order.refund': refund,
  'dispute.decide': decide,
  'operator.create': create,
  'operator.role': role,
  'operator.reactivate': reactivate,
  'operator.reset': resetSecondFactor,
  'operator.disable': disable,
} as const satisfies Record<ProposalKind, KindRules>;

export const rulesOf = (kind: ProposalKind): KindRules => KINDS[kind];

export const titleOf = ({ kind }: Pick<Proposal, 'kind'>): string => rulesOf(kind).title;

/** What a proposal will change, compared with the facts when it was made. */
export const changesOf = ({ kind, before, parameters }: Proposal): readonly Change[] =>
  rulesOf(kind).changes(before, parameters);
