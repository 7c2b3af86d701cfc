// The workflow type under which it is started.
export { orderWorkflow as order } from './order/workflow.ts';
export { retryDelivery, sendMail } from './one-activity.ts';
export { refundSurplusPayment } from './refund-surplus-payment.ts';
export { resendDeliveries } from './resend-deliveries.ts';
export {
  compareOrders,
  compareWithGateway,
  deleteExpiredData,
  reconcilePayments,
  sealOrderBlocks,
  sweep,
  verifyLedger,
} from './schedules.ts';
