/** What other features may use to send mails. */
export type { Mail, MailDeps } from './send-mail.ts';
export { sendMail } from './send-mail.ts';
