/** What other features may use to send mails. */
export { mailContext } from './content.ts';
export type { Letter } from './content.ts';
export { letterText } from './render-letter.ts';
export type { OutgoingMail } from './mailer.ts';
export type { OrderMailRecord } from './queries.ts';
export { listOrderMails, mailRow } from './queries.ts';
export type { Mail, MailDeps, PreparedMail, SealedMail } from './send-mail.ts';
export { onOneLine, prepareMail, sendMail, startMail } from './send-mail.ts';
