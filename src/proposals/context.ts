import type { OperatorRole, ProposedAction } from '../accounts/public.ts';
import type { Actor } from '../db/actor.ts';
import type { MailDeps } from '../mail/public.ts';
import type { AccountChangeDeps } from '../merchants/public.ts';
import type { SendDeps } from '../orders/public.ts';
import type { Gateways } from '../payments/public.ts';

export interface ProposalDeps extends SendDeps, MailDeps, AccountChangeDeps {
  gateways: Gateways;
}

/** Each kind is an action that may need a second person. */
export type ProposalKind = ProposedAction;

/** The operator who proposes or decides. */
export interface Proposer {
  user: { userId: string; email: string };
  role: OperatorRole;
  actor: Actor;
}

/** The facts that held when a proposal was made, by name. */
export type Before = Readonly<Record<string, string | number | null>>;

/** The parameters of a proposal. Its kind has a schema for them. */
export type Parameters = Readonly<Record<string, string | boolean | null>>;

/** A proposal with the addresses of those who made and decided it. */
export interface Proposal {
  proposalId: string;
  kind: ProposalKind;
  orderNumber: string | null;
  merchantId: string | null;
  operatorEmail: string | null;
  /** An order number, a merchant's id or an operator's address. */
  subject: string;
  parameters: Parameters;
  before: Before;
  reason: string;
  proposedBy: string;
  proposedByEmail: string;
  proposedAt: Date;
  expiresAt: Date;
  /** `expired` when its time is over, whether its row says so yet or not. */
  status: 'open' | 'approved' | 'rejected' | 'withdrawn' | 'expired';
  decidedBy: string | null;
  decidedByEmail: string | null;
  decidedAt: Date | null;
  carriedOutAt: Date | null;
  /** For an approved proposal: `done`, or why it could not be carried out. Null until it is carried out. */
  outcome: string | null;
}

/** One line of what a proposal will change. */
export interface Change {
  what: string;
  before: string | null;
  after: string | null;
}
