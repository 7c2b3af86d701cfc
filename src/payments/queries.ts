/** The SQL statements of payments, in one file for each subject. */
export * from './session-queries.ts';
export * from './capture-queries.ts';
export * from './surplus-queries.ts';
export * from './failed-refund-queries.ts';
export * from './reversal-queries.ts';
export * from './funds-queries.ts';
export * from './fee-queries.ts';
export * from './linked-account-queries.ts';
export * from './settlement-queries.ts';
