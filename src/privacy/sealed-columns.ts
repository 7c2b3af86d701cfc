import { keptFormContext, totpContext } from '../accounts/public.ts';
import { mailContext } from '../mail/public.ts';
import { accountNumberContext, documentContext } from '../onboarding/public.ts';
import { webhookSecretContext } from '../webhooks/public.ts';

/** The settings that contain keys of secret boxes. */
export type KeySetting = 'WEBHOOK_SECRET_KEYS' | 'DATA_ENCRYPTION_KEYS';

/** A column whose values a secret box has sealed. */
export interface SealedColumn {
  /** The name of its values, in the plural. */
  name: string;
  setting: KeySetting;
  table: string;
  column: string;
  /** True if its values are sealed as bytes, not as text. */
  isBinary: boolean;
  /** The columns that identify a row. */
  key: readonly string[];
  /** The context that a value is bound to, from the values of the key columns. */
  contextOf(key: Readonly<Record<string, string>>): string[];
}

/** Every sealed column. A test compares this list with the schema. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  {
    name: 'webhook secrets',
    setting: 'WEBHOOK_SECRET_KEYS',
    table: 'merchant_environments',
    column: 'webhook_secret_sealed',
    isBinary: false,
    key: ['merchant_id', 'environment'],
    contextOf: ({ merchantId = '', environment = '' }) =>
      webhookSecretContext(merchantId, environment),
  },
  {
    name: 'two-factor secrets',
    setting: 'DATA_ENCRYPTION_KEYS',
    table: 'users',
    column: 'totp_secret_sealed',
    isBinary: false,
    key: ['user_id'],
    contextOf: ({ userId = '' }) => totpContext(userId),
  },
  {
    name: 'bank account numbers',
    setting: 'DATA_ENCRYPTION_KEYS',
    table: 'merchant_applications',
    column: 'account_number_sealed',
    isBinary: false,
    key: ['merchant_id'],
    contextOf: ({ merchantId = '' }) => accountNumberContext(merchantId),
  },
  {
    name: 'documents',
    setting: 'DATA_ENCRYPTION_KEYS',
    table: 'merchant_documents',
    column: 'content_sealed',
    isBinary: true,
    key: ['merchant_id', 'document_id'],
    contextOf: ({ merchantId = '', documentId = '' }) => documentContext(merchantId, documentId),
  },
  {
    name: 'mails that wait',
    setting: 'DATA_ENCRYPTION_KEYS',
    table: 'mails',
    column: 'sealed',
    isBinary: true,
    key: ['mail_id'],
    contextOf: ({ mailId = '' }) => mailContext(mailId),
  },
  {
    name: 'kept forms',
    setting: 'DATA_ENCRYPTION_KEYS',
    table: 'kept_forms',
    column: 'content_sealed',
    isBinary: true,
    key: ['holder', 'path'],
    contextOf: ({ holder = '', path = '' }) => keptFormContext(holder, path),
  },
];
