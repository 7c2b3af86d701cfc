export type { SessionState } from './sessions/session-queries.ts';
export { isExpired } from './sessions/session-queries.ts';
export {
  consequenceOfDecision,
  consequenceOfRefund,
  consequenceOfSettlement,
  NOT_CHECKED,
} from './operators/consequences.ts';
export type { Consequence } from './operators/consequences.ts';
export type { FeesToCome } from './funds/fee-queries.ts';
export { estimateFeesToCome } from './funds/fee-queries.ts';
export { isHoldRefused } from './funds/funds-queries.ts';
export type { Gateways } from './gateway/gateways.ts';
export { checkLinkedAccount } from './funds/linked-accounts.ts';
export type { GatewayCall } from './gateway/gateway-calls.ts';
export { retryGatewayCalls } from './gateway/gateway-calls.ts';
export type { OrderView, OrderWorkflowsView } from './operators/order-view.ts';
export { readOrderView, readOrderWorkflows } from './operators/order-view.ts';
export type { OutsideSettlement } from './settlement/settle-outside.ts';
export {
  checkSettlement,
  OrderNotNotifiedError,
  settleOutside,
} from './settlement/settle-outside.ts';
export { isFinalRefusal } from './settlement/settle-payment.ts';
export type { StuckCall, StuckKind, StuckMoney } from './operators/stuck-money.ts';
export { findStuckMoney, inspectStuck } from './operators/stuck-money.ts';
