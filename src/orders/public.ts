/** What other features may import from the orders. */
export { authorizeOrder, orderErrors } from './authorize-order.ts';
export { curlOfFirstOrder } from './curl.ts';
export { exampleEventBody } from './example-event.ts';
export { erasedKeyOf } from './erased-key.ts';
export { ERASED, markErased } from './erased.ts';
export { findOrder, findOrderAnywhere, findOrderByNumber } from './find-orders.ts';
export type { DisputeEnding, DisputeLimit, DisputeRecord, RunningDispute } from './disputes.ts';
export { DISPUTE_LIMITS, disputeLimitOf, listRunningDisputes, readDisputes } from './disputes.ts';
export type { Timeline, TimelineRow } from './timeline.ts';
export { presentTimeline, readTimeline } from './timeline.ts';
export type { OrderCommands } from './commands.ts';
export type { DisputedOrder } from './dispute-history.ts';
export { findDisputeHistory } from './dispute-history.ts';
export type { FoundOrder } from './find-orders.ts';
export type { OperatorDeps, RecoverDeps } from './operator-commands.ts';
export {
  decideDispute,
  raiseDisputeForBuyer,
  recoverForOperator,
  refundForMerchant,
} from './operator-commands.ts';
export { searchAllOrders } from './search-all-orders.ts';
export type { OverdueOrder } from './wakeups.ts';
export { findOverdueOrders } from './wakeups.ts';
export { signalOrder } from './wake-order.ts';
export { findCarriedOut, writeCommand } from './command-queries.ts';
export type { OrderRow } from './rows.ts';
export type { FormValues, OrderAction, OrderActionId, OrderActions } from './actions.ts';
export type { AttentionList } from './attention.ts';
export { MOST_COUNTED } from './attention.ts';
export type { DayOfOrders } from './daily-outcomes.ts';
export type { MerchantOrders, OrderDetails } from './merchant-orders.ts';
export type { MerchantSearch, OrderOwner } from './search-orders.ts';
export { waitingOf } from './waiting.ts';
