/** The task queue of workflows, and of every activity without a queue of its own. */
export const TASK_QUEUE = 'orders';
/** The task queue of gateway calls that move money: slow webhooks cannot use up its slots. */
export const MONEY_TASK_QUEUE = 'orders-money';
/** Every task queue that a worker serves, unless its settings name one. */
export const TASK_QUEUES = [TASK_QUEUE, MONEY_TASK_QUEUE] as const;
/** One of {@link TASK_QUEUES}. */
export type TaskQueue = (typeof TASK_QUEUES)[number];

/** The workflow type of an order. Its workflow id is the order number. */
export const ORDER_WORKFLOW = 'order';
/** The workflow type that refunds a surplus capture; see {@link refundWorkflowId}. */
export const REFUND_SURPLUS_WORKFLOW = 'refundSurplusPayment';
/** The workflow type of a manual webhook attempt; see {@link retryWorkflowId}. */
export const RETRY_DELIVERY_WORKFLOW = 'retryDelivery';

/** The workflow type that sends one mail; see {@link mailWorkflowId}. */
export const SEND_MAIL_WORKFLOW = 'sendMail';

/** The workflow type that sends many deliveries again; see {@link resendWorkflowId}. */
export const RESEND_DELIVERIES_WORKFLOW = 'resendDeliveries';

/** The workflow type that finds what a dead process or a restored backup has left behind. */
export const SWEEP_WORKFLOW = 'sweep';
/** The workflow type that compares payments with the gateway. */
export const RECONCILE_WORKFLOW = 'reconcilePayments';
/** The workflow type that compares rows with workflows. */
export const COMPARE_WORKFLOW = 'compareOrders';
/** The workflow type that seals full blocks of orders, by which lists count. */
export const SEAL_BLOCKS_WORKFLOW = 'sealOrderBlocks';

/** The workflow type that verifies the whole ledger. */
export const VERIFY_LEDGER_WORKFLOW = 'verifyLedger';

/** The workflow type that compares the ledger with the gateway's own figures. */
export const COMPARE_GATEWAY_WORKFLOW = 'compareWithGateway';

/** The workflow type that deletes what has expired. */
export const RETENTION_WORKFLOW = 'deleteExpiredData';

/** The ids of the Schedules, by the workflow types that they start. */
export const SCHEDULE_IDS = {
  [SWEEP_WORKFLOW]: 'sweep',
  [RECONCILE_WORKFLOW]: 'reconcile-payments',
  [COMPARE_WORKFLOW]: 'compare-orders',
  [SEAL_BLOCKS_WORKFLOW]: 'seal-order-blocks',
  [VERIFY_LEDGER_WORKFLOW]: 'verify-ledger',
  [COMPARE_GATEWAY_WORKFLOW]: 'compare-with-gateway',
  [RETENTION_WORKFLOW]: 'delete-expired-data',
} as const;

/** The Signal that makes an order read its row. */
export const WAKE_SIGNAL = 'wake';

/** The custom search attributes of order workflows, for lists in the Temporal UI. */
export const SEARCH_ATTRIBUTES = {
  OrderStatus: 'KEYWORD',
  MerchantId: 'KEYWORD',
  Environment: 'KEYWORD',
  DisputeCount: 'INT',
} as const;

/** The form of a gateway's name, which is part of workflow ids and of alerts' subjects. */
export const GATEWAY_NAME = /^[a-z][a-z0-9]{0,29}$/;

/** A payment at its gateway. A gateway's ids are unique at that gateway only. */
export interface PaymentRef {
  /** The name of the gateway's adapter. */
  gateway: string;
  gatewayPaymentId: string;
}

/** The id of the workflow that refunds one surplus capture. Source: the contract's "States". */
export function refundWorkflowId({ gateway, gatewayPaymentId }: PaymentRef): string {
  return `refund-${gateway}-${gatewayPaymentId}`;
}

/** The id of a delivery's manual retry: one at a time can run. */
export function retryWorkflowId(deliveryId: string): string {
  return `retry-${deliveryId}`;
}

/** The id of the workflow that sends a mail: one at a time can run. */
export function mailWorkflowId(mailId: string): string {
  return `mail-${mailId}`;
}

/** The id of the workflow of a resend. */
export function resendWorkflowId(resendId: string): string {
  return `resend-${resendId}`;
}
