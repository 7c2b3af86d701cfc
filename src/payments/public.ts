/** The exports of payments that other features may import. */
export type { SessionState } from './session-queries.ts';
export { isExpired } from './session-queries.ts';
