export { order } from './order.ts';
export { sweepUnstartedOrders } from './sweep-unstarted-orders.ts';
