/** What the dashboard may use of the accounts. */
export type { AccountDeps, Client, OutgoingMail } from './context.ts';
export { EXPIRED_ACCESS } from './expired.ts';
export type { LinkPurpose, OpenLink } from './links.ts';
export { acceptInvitation, findLink, requestReset, resetPassword } from './links.ts';
export type { LogInResult } from './log-in.ts';
export { isCodeAwaited, logIn, LOGIN_COOKIE, logInWithCode } from './log-in.ts';
export type { Invitation, ListedOperator, UserAdminDeps } from './operators.ts';
export {
  changeOperatorRole,
  createOperator,
  disableOperator,
  inviteMerchant,
  listOperators,
  resetTwoFactor,
} from './operators.ts';
export { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from './password-rules.ts';
export type { OperatorAction, OperatorRole } from './permissions.ts';
export { mayDo } from './permissions.ts';
export { totpContext } from './second-factor.ts';
export type { ListedSession, SignedInUser } from './sessions.ts';
export {
  endOtherSessions,
  endSession,
  listSessions,
  readSession,
  SESSION_COOKIE,
} from './sessions.ts';
export { changePassword } from './set-password.ts';
export type { SignUp, WaitingSignUp } from './sign-up.ts';
export { confirmSignUp, findSignUp, signUp } from './sign-up.ts';
export type { TwoFactorChange, TwoFactorSetUp, TwoFactorState } from './two-factor.ts';
export {
  confirmTwoFactor,
  disableTwoFactor,
  readTwoFactor,
  readTwoFactorSetUp,
  renewRecoveryCodes,
  startTwoFactor,
} from './two-factor.ts';
