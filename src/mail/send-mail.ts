import { ulid } from 'ulid';
import type { Sql } from '../db/client.ts';
import { DomainError } from '../domain/index.ts';
import type { SecretBox } from '../secret-box.ts';
import { shorten } from '../pages/format.ts';
import type { MailWorkflows } from '../temporal/mail-workflows.ts';
import type { Letter, MailContent } from './content.ts';
import { sealMail } from './content.ts';
import { insertMail } from './queries.ts';

/** The dependencies of {@link sendMail}. */
export interface MailDeps {
  sql: Sql;
  /** Seals mails until they are sent: DATA_ENCRYPTION_KEYS. */
  mailBox: SecretBox;
  mails: MailWorkflows;
}

/** A letter to one reader. */
export interface Mail extends Letter {
  /** The same id is the same mail: a repeat sends nothing. Temporal stores it. */
  mailId?: string;
  /** One address, without a name. */
  to: string;
}

/** A mail id is part of a workflow id and of the Message-ID. */
const MAIL_ID = /^[\w-]{1,100}$/;
const ADDRESS = /^[^\s@,;:<>()[\]"\\\p{Cc}]{1,254}@[^\s@,;:<>()[\]"\\\p{Cc}]{1,255}$/u;
const ONE_LINE = /^[^\p{Cc}\u2028\u2029]+$/u;
/** Of a subject: a longer one is cut. */
const MAX_SUBJECT = 200;

/** A mail that is sealed for its row. */
export interface SealedMail {
  mailId: string;
  sealed: Buffer;
}

/** A sealed mail, with what is in it. */
export interface PreparedMail extends SealedMail {
  content: MailContent;
}

/**
 * Checks and seals a mail. A long subject is cut.
 *
 * @throws DomainError `BAD_REQUEST` when the recipient is not one address, or the subject is not one
 *   line: each could add headers or recipients to the mail
 */
export function prepareMail({ mailBox }: Pick<MailDeps, 'mailBox'>, mail: Mail): PreparedMail {
  const { mailId = `mail_${ulid()}`, ...content } = mail;
  const { to } = content;
  content.subject = shorten(content.subject, MAX_SUBJECT - 1);
  if (!MAIL_ID.test(mailId)) throw new Error('A mail id has up to 100 letters, digits, - and _');
  if (!ADDRESS.test(to)) throw new DomainError('BAD_REQUEST', 'The recipient is not one address');
  if (!ONE_LINE.test(content.subject)) {
    throw new DomainError('BAD_REQUEST', 'The subject is not one line');
  }
  return { mailId, content, sealed: sealMail(mailBox, mailId, content) };
}

/** A text on one line, for a subject that contains a name. */
export const onOneLine = (text: string): string =>
  text.toWellFormed().replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');

/** Starts the workflow of a mail that is written. If it fails, the sweep starts the workflow. */
export function startMail({ mails }: Pick<MailDeps, 'mails'>, { mailId }: SealedMail): void {
  // Not awaited: the caller responds equally fast whether it sends a mail or not.
  void mails.start(mailId).catch(() => undefined);
}

/**
 * Writes a mail to the database and starts the workflow that sends it. Returns when the mail is
 * written, even when Temporal cannot be reached: the sweep starts the workflow then.
 *
 * @throws DomainError `BAD_REQUEST` as `prepareMail`
 */
export async function sendMail(deps: MailDeps, mail: Mail): Promise<void> {
  const prepared = prepareMail(deps, mail);
  await insertMail(deps.sql, prepared.mailId, prepared.sealed);
  startMail(deps, prepared);
}
