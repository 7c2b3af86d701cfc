/** What other features may use of the merchants. */
export { newMerchantSchema } from './commands.ts';
export type { MerchantStatus } from './queries.ts';
export { merchantNotFound } from './queries.ts';
