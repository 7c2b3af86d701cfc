import { z } from 'zod';
import { LANGUAGES } from '../pages/language.ts';
import type { SecretBox } from '../secret-box.ts';

/** A link that stands on its own: in HTML a button. */
const linkSchema = z.object({ label: z.string(), url: z.string() });
/** What is best read as a table, such as an amount and a reference. */
const factsSchema = z.object({ facts: z.array(z.tuple([z.string(), z.string()])) });

/** What is stored of a mail until it is sent. */
const letterSchema = z.object({
  language: z.enum(LANGUAGES).default('en'),
  /** One line. It is also the heading. */
  subject: z.string(),
  paragraphs: z.array(z.union([z.string(), linkSchema, factsSchema])),
});

/** What a mail says, without its form: see `renderLetter`. English unless it names its language. */
export type Letter = z.input<typeof letterSchema>;

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
