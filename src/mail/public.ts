/** What other features may use to send mails. */
export { mailContext } from './content.ts';
export { mailRow } from './queries.ts';
export type { Mail, MailDeps, SealedMail } from './send-mail.ts';
export { prepareMail, sendMail, startMail } from './send-mail.ts';
