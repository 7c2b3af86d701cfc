/** Workflows, and every activity that is not named for another queue. */
export const TASK_QUEUE = 'orders';
/** Calls to the gateway that move money or end a payment: whatever webhooks do, these have slots. */
export const MONEY_TASK_QUEUE = 'orders-money';
export const TASK_QUEUES = [TASK_QUEUE, MONEY_TASK_QUEUE] as const;
export type TaskQueue = (typeof TASK_QUEUES)[number];

export const ORDER_WORKFLOW = 'order';
export const SWEEP_WORKFLOW = 'sweepUnstartedOrders';
export const REFUND_SURPLUS_WORKFLOW = 'refundSurplusPayment';
export const RECONCILE_WORKFLOW = 'reconcilePayments';
export const RECONCILE_SCHEDULE_ID = 'reconcile-payments';
export const RETRY_DELIVERY_WORKFLOW = 'retryDelivery';
export const SWEEP_SCHEDULE_ID = 'sweep-unstarted-orders';
export const COMPARE_WORKFLOW = 'compareOrders';
export const COMPARE_SCHEDULE_ID = 'compare-orders';
export const SEAL_BLOCKS_WORKFLOW = 'sealOrderBlocks';
export const SEAL_BLOCKS_SCHEDULE_ID = 'seal-order-blocks';

/** Tells an order that database and workflow may differ: it compares them. */
export const CATCH_UP_SIGNAL = 'catchUp';

/** What operators can search and sort by in the Temporal UI. */
export const SEARCH_ATTRIBUTES = {
  OrderStatus: 'KEYWORD',
  MerchantId: 'KEYWORD',
  Environment: 'KEYWORD',
  DisputeCount: 'INT',
} as const;

/** One refund for each capture that its order cannot take. Source: the contract's "States". */
export function refundWorkflowId(gatewayPaymentId: string): string {
  return `refund-${gatewayPaymentId}`;
}

/** Of one delivery, one manual retry at a time. */
export function retryWorkflowId(deliveryId: string): string {
  return `retry-${deliveryId}`;
}
