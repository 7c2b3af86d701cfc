/** The exports of payments that other features may import. */
export type { SessionState } from './session-queries.ts';
export { isExpired } from './session-queries.ts';
export {
  consequenceOfDecision,
  consequenceOfRefund,
  consequenceOfSettlement,
  NOT_CHECKED,
} from './consequences.ts';
export type { FeesToCome } from './fee-queries.ts';
export { estimateFeesToCome } from './fee-queries.ts';
export { isHoldRefused } from './funds-queries.ts';
export type { Gateways } from './gateways.ts';
export type { CheckedAccount, LinkedAccountState } from './linked-accounts.ts';
export { checkLinkedAccount } from './linked-accounts.ts';
export type { GatewayCall } from './gateway-calls.ts';
export { retryGatewayCalls } from './gateway-calls.ts';
export type { OrderView, OrderWorkflowsView } from './order-view.ts';
export { readOrderView, readOrderWorkflows } from './order-view.ts';
export { OrderNotNotifiedError, settleOutside } from './settle-outside.ts';
export type { StuckCall, StuckKind, StuckMoney } from './stuck-money.ts';
export { findStuckMoney, inspectStuck } from './stuck-money.ts';
