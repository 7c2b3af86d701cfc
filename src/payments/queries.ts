/** The SQL statements of payments, in one file for each subject. */
export * from './sessions/session-queries.ts';
export * from './captures/capture-queries.ts';
export * from './funds/surplus-queries.ts';
export * from './funds/failed-refund-queries.ts';
export * from './reversals/reversal-queries.ts';
export * from './funds/funds-queries.ts';
export * from './funds/fee-queries.ts';
export * from './funds/balance-queries.ts';
export * from './funds/payout-queries.ts';
export * from './funds/linked-account-queries.ts';
export * from './settlement/settlement-queries.ts';
