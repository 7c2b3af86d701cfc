import type { Sql } from '../db/client.ts';

/** A mail is given up when it could not be sent for so long. */
const GIVEN_UP_AFTER_HOURS = 24;

/** Longer than the wait between two attempts: a workflow that runs attempts it before then. */
const SWEEP_AGAIN_AFTER_HOURS = 2;

/** Writes a mail, unless one with this id exists. */
export async function insertMail(sql: Sql, mailId: string, sealed: Uint8Array): Promise<void> {
  await sql`
    INSERT INTO mails (mail_id, sealed) VALUES (${mailId}, ${sealed})
    ON CONFLICT (mail_id) DO NOTHING`;
}

/**
 * The INSERT of a mail, for a statement that makes a change and writes the mail about it: neither
 * happens without the other.
 *
 * @param changed the WITH query that has a row if the change was made
 */
export const mailRow = (sql: Sql, mail: { mailId: string; sealed: Uint8Array }, changed: string) =>
  sql`INSERT INTO mails (mail_id, sealed) SELECT ${mail.mailId}, ${mail.sealed} FROM ${sql(changed)}`;

/** A mail that waits to be sent. */
export interface WaitingMail {
  sealed: Uint8Array;
  createdAt: Date;
  /** It is given up if this attempt does not send it. */
  isLastAttempt: boolean;
  /** Of a mail about an order, such as `buyer_receipt`; null of others. */
  kind: string | null;
}

/** Begins an attempt. @returns undefined when the mail was sent or has failed, or does not exist */
export async function beginAttempt(sql: Sql, mailId: string): Promise<WaitingMail | undefined> {
  const [row] = await sql<WaitingMail[]>`
    UPDATE mails SET sweep_at = service_now() + ${SWEEP_AGAIN_AFTER_HOURS} * interval '1 hour'
    WHERE mail_id = ${mailId} AND sealed IS NOT NULL
    RETURNING sealed, created_at, kind,
      created_at + ${GIVEN_UP_AFTER_HOURS} * interval '1 hour' <= service_now() AS is_last_attempt`;
  return row;
}

/** Records that the SMTP server has accepted a mail, and deletes its content. */
export async function markSent(sql: Sql, mailId: string): Promise<void> {
  await sql`
    UPDATE mails SET sent_at = service_now(), sealed = NULL
    WHERE mail_id = ${mailId} AND sealed IS NOT NULL`;
}

/** Records that a mail is given up, and deletes its content. @param failure without the address */
export async function markFailed(sql: Sql, mailId: string, failure: string): Promise<void> {
  await sql`
    UPDATE mails SET failed_at = service_now(), failure = ${failure}, sealed = NULL
    WHERE mail_id = ${mailId} AND sealed IS NOT NULL`;
}

/** The ids of waiting mails that no workflow has attempted in time, the oldest first. */
export async function findUnstartedMails(
  sql: Sql,
  sweepAfterMs: number,
  limit: number,
): Promise<string[]> {
  const rows = await sql<{ mailId: string }[]>`
    SELECT mail_id FROM mails
    WHERE sealed IS NOT NULL AND sweep_at < service_now() - ${sweepAfterMs} * interval '1 millisecond'
    ORDER BY sweep_at LIMIT ${limit}`;
  return rows.map(({ mailId }) => mailId);
}

/** What became of a mail about an order. Its content and address are deleted once it is sent. */
export interface OrderMailRecord {
  /** Such as `buyer_receipt`. */
  kind: string;
  createdAt: Date;
  sentAt: Date | null;
  /** Why it was given up. */
  failure: string | null;
}

const MOST_MAILS = 100;

/** The latest mails about an order, the oldest first. Records are kept for 30 days. */
export async function listOrderMails(sql: Sql, orderNumber: string): Promise<OrderMailRecord[]> {
  const mails = await sql<OrderMailRecord[]>`
    SELECT kind, created_at, sent_at, failure FROM mails
    WHERE order_number = ${orderNumber} ORDER BY created_at DESC, mail_id DESC LIMIT ${MOST_MAILS}`;
  return mails.toReversed();
}
