export { auditCsv } from './audit-csv.ts';
export type { AuditEntry, AuditFilter, CommandAction } from './audit-log.ts';
export { AUDIT_ID, listAudit } from './audit-log.ts';
export { writeBuyerView, writeLook } from './looks.ts';
export type { StatusChange } from './commands.ts';
export { changeMerchantStatus, newMerchantSchema, setLinkedAccount } from './commands.ts';
export type { AccountChange, AccountChangeDeps, CheckedAccount } from './linked-accounts.ts';
export { assertAccountIsFree, prepareAccountChange } from './linked-accounts.ts';
export type { KeyPair } from './keys/credentials.ts';
export type { ListedKey } from './keys/keys.ts';
export { createKeyPair, listKeys, rotateSecret } from './keys/keys.ts';
export type { MerchantAct } from './mails.ts';
export type { NoticeDeps } from './notices.ts';
export { withNotice } from './notices.ts';
export { findOrigins, setOrigins } from './origins.ts';
export type { MailReader, MerchantRow, MerchantStatus, WithMerchantName } from './queries.ts';
export {
  joinMailReader,
  mailReader,
  merchantNotFound,
  readinessColumns,
  readinessJoin,
  requireMerchant,
  withMerchantNames,
} from './queries.ts';
export type { LinkedAccountState, Readiness } from './readiness.ts';
export { whyNotReady } from './readiness.ts';
export { admitSend } from './send-limits.ts';
export { armSandboxFault } from './sandbox-fault.ts';
