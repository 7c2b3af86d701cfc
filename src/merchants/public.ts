/** What other features may use of the merchants. */
export type { MerchantStatus } from './queries.ts';
export { merchantNotFound } from './queries.ts';
