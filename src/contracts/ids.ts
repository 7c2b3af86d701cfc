/** The task queue of workflows, and of every activity without a queue of its own. */
export const TASK_QUEUE = 'orders';
/** The task queue of gateway calls that move money: slow webhooks cannot use up its slots. */
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

/** The Signal that has an order compare its state with its row. */
export const CATCH_UP_SIGNAL = 'catchUp';

/** The custom search attributes of order workflows, for lists in the Temporal UI. */
export const SEARCH_ATTRIBUTES = {
  OrderStatus: 'KEYWORD',
  MerchantId: 'KEYWORD',
  Environment: 'KEYWORD',
  DisputeCount: 'INT',
} as const;

/** The id of the workflow that refunds one surplus capture. Source: the contract's "States". */
export function refundWorkflowId(gatewayPaymentId: string): string {
  return `refund-${gatewayPaymentId}`;
}

/** The id of a delivery's manual retry: one at a time can run. */
export function retryWorkflowId(deliveryId: string): string {
  return `retry-${deliveryId}`;
}
