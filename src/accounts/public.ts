export type { AccountDeps, Client } from './context.ts';
export { noticeMail } from './mails.ts';
export { EXPIRED_ACCESS } from './expired.ts';
export type { FormSender, KeptForms, TypedForm } from './kept-forms.ts';
export { createKeptForms, FORM_COOKIE, KEPT_FORM_SECONDS, keptFormContext } from './kept-forms.ts';
export { confirmAgain } from './log-in/confirm-again.ts';
export type { LinkPurpose, OpenLink } from './people/links.ts';
export { acceptInvitation, findLink, requestReset, resetPassword } from './people/links.ts';
export type { LogInResult } from './log-in/log-in.ts';
export { DEVICE_COOKIE, DEVICE_COOKIE_DAYS } from './log-in/devices.ts';
export { newToken } from './tokens.ts';
export { isCodeAwaited, logIn, LOGIN_COOKIE, logInWithCode } from './log-in/log-in.ts';
export type { InvitedOperator } from './people/invitations.ts';
export { createOperator, inviteMerchant } from './people/invitations.ts';
export type { ListedOperator, OperatorState } from './people/operators.ts';
export {
  changeOperatorRole,
  disableOperator,
  listActiveOperators,
  listWarnedOperators,
  listOperators,
  readOperatorState,
  resetTwoFactor,
} from './people/operators.ts';
export { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from './passwords/password-rules.ts';
export type { ProvenOperator } from './people/prove-operator.ts';
export { proveOperator } from './people/prove-operator.ts';
export type { OperatorAction, OperatorRole, ProposedAction } from './people/permissions.ts';
export { ACTION_RULES, DISPUTES_PER_DAY, mayDo, rolesFor } from './people/permissions.ts';
export { readMutedMails, writeMutedMails } from './people/mail-preferences.ts';
export type { NamedUser } from './people/users.ts';
export { auditNameOfEmail, emailKeyOf, findNamedUsers, parseAddress } from './people/users.ts';
export { totpContext } from './two-factor/second-factor.ts';
export type { ListedSession, SignedInUser } from './log-in/sessions.ts';
export {
  endOtherSessions,
  endSession,
  listSessions,
  readSession,
  SESSION_COOKIE,
} from './log-in/sessions.ts';
export { changePassword } from './passwords/change-password.ts';
export type { SignUp, WaitingSignUp } from './people/sign-up.ts';
export { confirmSignUp, findSignUp, signUp } from './people/sign-up.ts';
export type { TwoFactorChange, TwoFactorSetUp, TwoFactorState } from './two-factor/two-factor.ts';
export {
  confirmTwoFactor,
  disableTwoFactor,
  readTwoFactor,
  readTwoFactorSetUp,
  renewRecoveryCodes,
  startTwoFactor,
} from './two-factor/two-factor.ts';
