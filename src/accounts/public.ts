/** What the dashboard may use of the accounts. */
export type { OperatorAction, OperatorRole } from './permissions.ts';
export { mayDo } from './permissions.ts';
export type { Client, ListedSession, SignedInUser } from './sessions.ts';
export {
  createSession,
  endSession,
  endSessions,
  listSessions,
  readSession,
  SESSION_COOKIE,
} from './sessions.ts';
