export type { CarriedOut } from './carry-out.ts';
export type { Parameters, Proposal, ProposalDeps, ProposalKind, Proposer } from './context.ts';
export { deadlineOfProposal } from './deadlines.ts';
export { changesOf, titleOf } from './kinds.ts';
export type { Proposed } from './proposals.ts';
export { approveProposal, propose, rejectProposal, withdrawProposal } from './proposals.ts';
export { listOpenAbout, listOpenProposals, listPastProposals, requireProposal } from './queries.ts';
export type { AmountRule } from './second-person.ts';
export { disableOrPropose, isLastOtherAdmin, kindsFor, needsProposal } from './second-person.ts';
