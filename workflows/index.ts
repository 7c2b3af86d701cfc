export { order } from './order.ts';
export { refundSurplusPayment } from './refund-surplus-payment.ts';
export { retryDelivery } from './retry-delivery.ts';
export { reconcilePayments, sealOrderBlocks, sweepUnstartedOrders } from './schedules.ts';
