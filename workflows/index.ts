export { order } from './order.ts';
export { refundSurplusPayment } from './refund-surplus-payment.ts';
export { retryDelivery } from './retry-delivery.ts';
export { reconcilePayments, sweepUnstartedOrders } from './schedules.ts';
