import type { Sql } from '../../src/db/client.ts';
import { openMail } from '../../src/mail/content.ts';
import { letterText } from '../../src/mail/public.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { SECRET_KEYS } from './secret-keys.ts';

interface WaitingMail {
  to: string;
  subject: string;
  text: string;
}

/** The mails to an address that wait to be sent, in the order in which they were written. */
export async function mailsTo(sql: Sql, to: string): Promise<WaitingMail[]> {
  const rows = await sql<{ mailId: string; sealed: Buffer }[]>`
    SELECT mail_id, sealed FROM mails WHERE sealed IS NOT NULL ORDER BY created_at, mail_id`;
  const box = createSecretBox(SECRET_KEYS);
  return rows
    .map(({ mailId, sealed }) => openMail(box, mailId, sealed))
    .filter((mail) => mail.to === to)
    .map((mail) => ({ to, subject: mail.subject, text: `${letterText(mail)}\n` }));
}

/** The path of the link in the latest mail to an address. */
export async function linkTo(sql: Sql, to: string): Promise<string> {
  const mail = (await mailsTo(sql, to)).at(-1);
  const path = /\/dashboard\/[a-z-]+\/[\w-]{43}(?=\n)/.exec(mail?.text ?? '')?.[0];
  if (path === undefined) throw new Error(`The latest mail to ${to} has no link`);
  return path;
}
