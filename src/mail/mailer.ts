import { hash } from 'node:crypto';
import { createTransport } from 'nodemailer';
import { createLimiter } from '../limiter.ts';
import type { MailContent } from './content.ts';
import { renderLetter } from './render-letter.ts';

/** The settings of a {@link Mailer}. */
export interface MailerSettings {
  /** `smtp://` or `smtps://`, with nodemailer's options as its query. */
  smtpUrl: string;
  mailFrom: string;
  /** Named in each mail, where readers can ask. */
  supportEmail?: string | undefined;
  /** Whether smtp:// must upgrade to TLS; `requireTLS` or `ignoreTLS` in the URL decide instead. */
  requiresTls: boolean;
}

/** A mail as it is sent. The same values make the same bytes. */
export interface OutgoingMail extends MailContent {
  mailId: string;
  createdAt: Date;
}

/** What came of a mail. The reason has no text of the server, which may repeat the address. */
export type MailerResult =
  | { outcome: 'accepted' }
  /** The server refuses the mail permanently. `isAddress`: because the recipient's address does not exist. */
  | { outcome: 'refused'; reason: string; isAddress: boolean }
  | { outcome: 'postponed'; reason: string; retryAfterMs?: number };

/** Sends mails over SMTP. */
export interface Mailer {
  send(mail: OutgoingMail): Promise<MailerResult>;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** A server may check a mail for some time before it accepts it. */
const SEND_TIMEOUT_MS = 30_000;

const MAX_CONCURRENT = 20;
/** Further mails are postponed: a server that does not respond must not use up the worker's slots. */
const MAX_WAITING = 20;
const BUSY = new Error('Too many mails are being sent');
const POSTPONED: MailerResult = {
  outcome: 'postponed',
  reason: BUSY.message,
  retryAfterMs: 5000,
};

/** Codes of a 5xx that refuse this service and not the mail: it is to authenticate first. */
const REFUSED_LOGINS = [530, 534, 535, 538];

/** Creates a {@link Mailer} for one SMTP server. */
export function createMailer(settings: MailerSettings): Mailer {
  const { smtpUrl, mailFrom, supportEmail, requiresTls } = settings;
  const { searchParams } = new URL(smtpUrl);
  const decides = searchParams.has('requireTLS') || searchParams.has('ignoreTLS');
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SEND_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(requiresTls && !decides && { requireTLS: true }),
  });
  const domain = /@([^\s@>]+)>?$/.exec(mailFrom)?.[1] ?? 'localhost';
  const sends = createLimiter({ ofOne: MAX_CONCURRENT, maxWaiting: MAX_WAITING }, () => BUSY);

  async function sendNow(mail: OutgoingMail): Promise<MailerResult> {
    const { mailId, createdAt, to, ...letter } = mail;
    const rendered = renderLetter(letter, supportEmail);
    try {
      await transport.sendMail({
        ...rendered,
        // Between the two forms: the same for a repeat, and nothing that the mail itself can contain.
        baseBoundary: hash('sha256', mailId + rendered.text).slice(0, 32),
        from: mailFrom,
        // Not as text, which may be a list of addresses.
        to: { name: '', address: to },
        date: createdAt,
        messageId: `<${mailId}@${domain}>`,
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
      });
      return { outcome: 'accepted' };
    } catch (error) {
      return resultOf(error as SmtpError);
    }
  }

  return {
    async send(mail) {
      try {
        return await sends.run(smtpUrl, () => sendNow(mail));
      } catch (error) {
        if (error === BUSY) return POSTPONED;
        throw error;
      }
    },
  };
}

/** The fields of nodemailer's errors that contain nothing of the mail. */
interface SmtpError {
  code?: string;
  command?: string;
  responseCode?: number;
  /** A 5xx, except 503. */
  permanent?: boolean;
  /** The server's text, which may repeat the address. */
  response?: string;
}

/** The status of a policy, such as of a server that relays nothing from here (RFC 3463): it is not about the address. */
const POLICY = /^\d{3}[ -]5\.7\./;

function resultOf(error: SmtpError): MailerResult {
  const { code, command, responseCode, permanent, response = '' } = error;
  if (responseCode === undefined) {
    const reason = `The SMTP server did not take the mail: ${code ?? 'unknown error'}`;
    return { outcome: 'postponed', reason };
  }
  const reason = `The SMTP server answered ${responseCode} to ${command ?? 'the connection'}`;
  const isOfMail = code === 'EENVELOPE' || code === 'EMESSAGE';
  const isRefused = isOfMail && permanent === true && !REFUSED_LOGINS.includes(responseCode);
  if (!isRefused) return { outcome: 'postponed', reason };
  return { outcome: 'refused', reason, isAddress: command === 'RCPT TO' && !POLICY.test(response) };
}
