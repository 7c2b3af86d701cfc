/** The task queue of workflows and of the activities that have no queue of their own. */
export const TASK_QUEUE = 'orders';
/** The task queue of gateway calls that move money. It is separate so that slow webhooks cannot use up its slots. */
export const MONEY_TASK_QUEUE = 'orders-money';
export const TASK_QUEUES = [TASK_QUEUE, MONEY_TASK_QUEUE] as const;
export type TaskQueue = (typeof TASK_QUEUES)[number];

/** The workflow type of an order. Its workflow id is the order number. */
export const ORDER_WORKFLOW = 'order';
/** The workflow type that refunds a surplus capture; see {@link refundWorkflowId}. */
export const REFUND_SURPLUS_WORKFLOW = 'refundSurplusPayment';
export const RETRY_DELIVERY_WORKFLOW = 'retryDelivery';

export const SEND_MAIL_WORKFLOW = 'sendMail';

export const RESEND_DELIVERIES_WORKFLOW = 'resendDeliveries';

export const SWEEP_WORKFLOW = 'sweep';
export const RECONCILE_WORKFLOW = 'reconcilePayments';
export const COMPARE_WORKFLOW = 'compareOrders';
export const SEAL_BLOCKS_WORKFLOW = 'sealOrderBlocks';

export const VERIFY_LEDGER_WORKFLOW = 'verifyLedger';

export const COMPARE_GATEWAY_WORKFLOW = 'compareWithGateway';

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

/** A payment at its gateway. Its id is unique at that gateway only. */
export interface PaymentRef {
  /** The name of the gateway's adapter. */
  gateway: string;
  gatewayPaymentId: string;
}

/** The id of the workflow that refunds one surplus capture. Source: the contract's "States". */
export function refundWorkflowId({ gateway, gatewayPaymentId }: PaymentRef): string {
  return `refund-${gateway}-${gatewayPaymentId}`;
}

/** The id of the workflow of a delivery's manual retry, of which one at a time can run. */
export function retryWorkflowId(deliveryId: string): string {
  return `retry-${deliveryId}`;
}

/** The id of the workflow that sends a mail, of which one at a time can run. */
export function mailWorkflowId(mailId: string): string {
  return `mail-${mailId}`;
}

export function resendWorkflowId(resendId: string): string {
  return `resend-${resendId}`;
}
