// The workflow type under which it is started.
export { orderWorkflow as order } from './order/workflow.ts';
export { refundSurplusPayment } from './refund-surplus-payment.ts';
export { resendDeliveries } from './resend-deliveries.ts';
export { retryDelivery } from './retry-delivery.ts';
export { sendMail } from './send-mail.ts';
export {
  compareOrders,
  compareWithGateway,
  deleteExpiredData,
  reconcilePayments,
  sealOrderBlocks,
  sweep,
  verifyLedger,
} from './schedules.ts';
