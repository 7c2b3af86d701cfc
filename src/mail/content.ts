import { z } from 'zod';
import type { SecretBox } from '../secret-box.ts';
import { letterSchema } from './letter.ts';

const contentSchema = letterSchema.extend({ to: z.string() });

/** What is sealed of a mail: it is personal. */
export type MailContent = z.input<typeof contentSchema>;

/** What a sealed mail belongs to. */
export const mailContext = (mailId: string) => ['mail', mailId];

/** Seals a mail for its row. */
export function sealMail(mailBox: SecretBox, mailId: string, content: MailContent): Buffer {
  return mailBox.sealBytes(Buffer.from(JSON.stringify(content)), mailContext(mailId));
}

/** @throws SealError when no configured key opens it */
export function openMail(mailBox: SecretBox, mailId: string, sealed: Uint8Array): MailContent {
  const opened = mailBox.openBytes(sealed, mailContext(mailId)).toString('utf8');
  return contentSchema.parse(JSON.parse(opened));
}
