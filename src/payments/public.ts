/** What other features may use of the payments. */
export type { SessionState } from './session-queries.ts';
export { isExpired } from './session-queries.ts';
