/** What other features may import from the ledger. */
export { showLedger } from './verify.ts';
