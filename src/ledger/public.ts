/** What other features may import from the ledger. */
export type { MoneyDay } from './merchant-money.ts';
export { readMoneyDays } from './merchant-money.ts';
export type { RunningLine } from './running-ledger.ts';
export { runningLedger } from './running-ledger.ts';
export { showLedger } from './verify.ts';
export type { LedgerProof, ProofSummary } from './proofs.ts';
export { findLatestProof, listProofs } from './proofs.ts';
export type { LineTotal, LineType, MoneyOwner, StatementLine, StatementPage } from './statement.ts';
export { LINE_TYPES, readStatement, readStatementTotals } from './statement.ts';
export { statementCsv } from './statement-csv.ts';
export { daySchema } from './statement-route.ts';
