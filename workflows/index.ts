// The names are those of the workflow types.
export { orderWorkflow as order } from './order/workflow.ts';
export { refundSurplusPayment } from './refund-surplus-payment.ts';
export { resendDeliveries } from './resend-deliveries.ts';
export { reconcilePayments, sweep } from './schedules.ts';
// Each of these workflows is one activity, so that it is done even if a worker dies during it.
export {
  attemptManually as retryDelivery,
  compareOrders,
  compareWithGateway,
  deleteExpiredData,
  sealOrderBlocks,
  sendMail,
  verifyLedger,
} from './activities.ts';
