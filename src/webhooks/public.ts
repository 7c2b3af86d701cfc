/** What other features may import from the webhooks. */
export { listDeliveries } from './delivery-list.ts';
