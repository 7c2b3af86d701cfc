export { curlOfFirstOrder, curlOfPost } from './routes/curl.ts';
export { exampleEventBody, unusualTestBody } from './routes/example-event.ts';
export type { WebhookEvent } from './routes/webhook-events.ts';
export { WEBHOOK_EVENTS, webhookEventSchema } from './routes/webhook-events.ts';
export {
  EXAMPLE_ORDERS,
  EXAMPLE_TIMELINE,
  exampleEvent,
  exampleEventId,
} from './routes/examples.ts';
export { disputeSchema } from './schemas.ts';
export type { Order } from './schemas.ts';
export {
  authorizeOrder,
  findOrder,
  findOrderAnywhere,
  findOrderByNumber,
  orderErrors,
} from './find-order.ts';
export type { DisputeEnding, DisputeLimit, DisputeRecord } from './steps/disputes.ts';
export { DISPUTE_LIMITS, findDisputedOften, readDisputes } from './steps/disputes.ts';
export type { TimelinePart, TimelinePlace, TimelineRow } from './steps/timeline.ts';
export type { Timeline } from './steps/timeline-presenter.ts';
export { findUnappliedState, readTimeline, timelinePlaceSchema } from './steps/timeline.ts';
export { deadlineOf, isRefundForMerchant, presentToOperator } from './steps/timeline-presenter.ts';
export type { SendDeps } from './commands/send-command.ts';
export type { DisputedOrder } from './lists/dispute-history.ts';
export { findDisputeHistory } from './lists/dispute-history.ts';
export type { OperatorDeps } from './commands/operator-commands.ts';
export {
  assertMerchantCannotRefund,
  canMerchantRefund,
  decideDispute,
  raiseDisputeForBuyer,
  recoverForOperator,
  refundForMerchant,
} from './commands/operator-commands.ts';
export type { OverdueOrder } from './wake/wakeups.ts';
export { findOverdueOrders } from './wake/wakeups.ts';
export { signalOrder, wakeOrder } from './wake/wake-order.ts';
export {
  findCarriedOut,
  isRecorded,
  newIdOrKey,
  writeCommand,
} from './commands/command-queries.ts';
export type { OrderRow } from './rows.ts';
export { ERASED, markErased } from './rows.ts';
export type { DeliveryToSend, LeasedDelivery } from './steps/step-webhook.ts';
export type { DeclaredCommand } from './routes/command-routes.ts';
export { commandPath } from './routes/command-routes.ts';
export type {
  AttentionList,
  DayOfOrders,
  DueRelease,
  OrderVolume,
} from './lists/merchant-figures.ts';
export { MOST_COUNTED, readOrderVolume } from './lists/merchant-figures.ts';
export type { DisputeList } from './lists/list-disputes.ts';
export { DISPUTE_LISTS, listDisputes } from './lists/list-disputes.ts';
export type { MerchantOrders, OrderDetails } from './lists/merchant-orders.ts';
export type { OrderSort, OrdersPage } from './lists/page-orders.ts';
export { ORDER_SORTS } from './lists/page-orders.ts';
export type { MerchantSearch, OrderOwner } from './lists/search-orders.ts';
export { searchAllOrders } from './lists/search-orders.ts';
export type { SurplusReason } from './mails/buyer-texts.ts';
export type {
  OrderMail,
  OrderMailKind,
  OrderMailDeps,
  OutgoingOrderMail,
  WrittenMail,
} from './mails/step-mails.ts';
export { mailRows, mailsOfSurplus, outgoingMails } from './mails/step-mails.ts';
