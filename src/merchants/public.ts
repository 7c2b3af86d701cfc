/** What other features may use of the merchants. */
export { auditCsv } from './audit-csv.ts';
export type { AuditEntry, AuditFilter } from './audit-log.ts';
export { AUDIT_ID, listAudit } from './audit-log.ts';
export { writeBuyerView, writeLook } from './looks.ts';
export type { StatusChange } from './commands.ts';
export { changeMerchantStatus, newMerchantSchema, setLinkedAccount } from './commands.ts';
export type { AccountChange, AccountChangeDeps } from './linked-accounts.ts';
export { assertAccountIsFree, prepareAccountChange } from './linked-accounts.ts';
export type { KeyPair } from './credentials.ts';
export type { ListedKey } from './keys.ts';
export { createKeyPair, listKeys, rotateSecret } from './keys.ts';
export { findOrigins, setOrigins } from './origins.ts';
export type { MerchantRow, MerchantStatus } from './queries.ts';
export { merchantNotFound, readinessColumns, readinessJoin, requireMerchant } from './queries.ts';
export type { Readiness } from './readiness.ts';
export { whyNotReady } from './readiness.ts';
