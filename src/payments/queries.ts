/** All statements about payments, by what they are about. */
export * from './session-queries.ts';
export * from './capture-queries.ts';
export * from './surplus-queries.ts';
export * from './reversal-queries.ts';
export * from './funds-queries.ts';
