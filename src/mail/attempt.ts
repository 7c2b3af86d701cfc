import type { AlertDeps } from '../alerts/alerts.ts';
import { clearAlert, raiseAlert } from '../alerts/alerts.ts';
import type { BackgroundWork } from '../background-work.ts';
import type { SecretBox } from '../secret-box.ts';
import { SealError } from '../secret-box.ts';
import type { MailWorkflows } from '../temporal/mail-workflows.ts';
import type { MailContent } from './content.ts';
import { openMail } from './content.ts';
import type { Mailer, MailerResult, OutgoingMail } from './mailer.ts';
import type { WaitingMail } from './queries.ts';
import { beginAttempt, markFailed, markSent } from './queries.ts';

/** The dependencies of {@link attemptMail}. */
export interface MailAttemptDeps extends AlertDeps {
  mailBox: SecretBox;
  /** Undefined without SMTP_URL. */
  mailer: Mailer | undefined;
}

/** The result of an attempt. No reason contains the recipient's address or the content. */
export type AttemptResult =
  /** Nothing is left to do: the mail is sent, now or by an earlier attempt, or was given up earlier. */
  | { outcome: 'done' }
  /** It is given up; its alert is raised. */
  | { outcome: 'failed'; reason: string }
  | { outcome: 'postponed'; reason: string; retryAfterMs?: number };

const NOT_CONFIGURED = { kind: 'mail_not_configured', subject: 'SMTP_URL' } as const;

/**
 * Makes one attempt to send a mail. If the process dies between the acceptance by the SMTP server and
 * the mark, the next attempt sends the same mail again, with the same Message-ID.
 */
export async function attemptMail(deps: MailAttemptDeps, mailId: string): Promise<AttemptResult> {
  const mail = await beginAttempt(deps.sql, mailId);
  if (mail === undefined) return { outcome: 'done' };
  return finish(deps, { mailId, ...mail }, await send(deps, mailId, mail));
}

/** A mail about an order that this process has just written: nothing of it need be read for its first attempt. */
type FirstMail = OutgoingMail & { kind: string };

/** What first attempts need. */
interface BackgroundMailDeps extends MailAttemptDeps {
  background: BackgroundWork;
  mails: MailWorkflows;
}

/** Makes the first attempts of mails in the background. */
export type BeginMails = (mails: readonly FirstMail[]) => void;

/**
 * Makes the first attempt of each mail about an order in the process that has written it: a server that accepts it
 * saves a workflow. Otherwise the mail's workflow is started, by this process or, if it dies, by the sweep.
 */
export function createBackgroundMails(deps: BackgroundMailDeps): BeginMails {
  const { background, mailer, mails, log } = deps;

  async function attempt(mail: FirstMail): Promise<void> {
    if (mailer === undefined) return mails.start(mail.mailId);
    const result = await attemptFirst({ ...deps, mailer }, mail).catch((err: unknown) => {
      log.warn({ err, mailId: mail.mailId }, 'A first attempt of a mail could not be made');
      return { outcome: 'postponed' };
    });
    if (result.outcome === 'postponed') await mails.start(mail.mailId);
  }

  return (written) => {
    for (const mail of written) background.begin(() => attempt(mail));
  };
}

async function attemptFirst(
  deps: MailAttemptDeps & { mailer: Mailer },
  { kind, ...mail }: FirstMail,
): Promise<AttemptResult> {
  const { mailId } = mail;
  return finish(deps, { mailId, kind, isLastAttempt: false }, await deps.mailer.send(mail));
}

type AttemptedMail = Pick<WaitingMail, 'kind' | 'isLastAttempt'> & { mailId: string };

async function finish(
  deps: MailAttemptDeps,
  mail: AttemptedMail,
  result: MailerResult,
): Promise<AttemptResult> {
  const { mailId } = mail;
  switch (result.outcome) {
    case 'accepted':
      await markSent(deps.sql, mailId);
      // An order's mails are only written while a server is configured.
      if (mail.kind === null) {
        await clearAlert(deps.sql, NOT_CONFIGURED.kind, NOT_CONFIGURED.subject, 'a mail was sent');
      }
      return { outcome: 'done' };
    case 'refused':
      return giveUp(deps, mail, result);
    case 'postponed':
      // A result with `retryAfterMs` is no attempt: the server was not asked.
      if (mail.isLastAttempt && result.retryAfterMs === undefined)
        return giveUp(deps, mail, result);
      deps.log.warn({ mailId, reason: result.reason }, 'A mail was not sent: it is retried');
      return result;
  }
}

async function send(
  deps: MailAttemptDeps,
  mailId: string,
  { sealed, createdAt }: WaitingMail,
): Promise<MailerResult> {
  if (deps.mailer === undefined) {
    const message = 'A mail waits, but no SMTP server is configured';
    await raiseAlert(deps, { ...NOT_CONFIGURED, message, fields: { mailId } });
    return { outcome: 'postponed', reason: 'No SMTP server is configured' };
  }
  const content = openOrUndefined(deps.mailBox, mailId, sealed);
  if (content === undefined) {
    return { outcome: 'postponed', reason: 'No key of DATA_ENCRYPTION_KEYS opens the mail' };
  }
  return deps.mailer.send({ mailId, createdAt, ...content });
}

function openOrUndefined(
  mailBox: SecretBox,
  mailId: string,
  sealed: Uint8Array,
): MailContent | undefined {
  try {
    return openMail(mailBox, mailId, sealed);
  } catch (error) {
    if (error instanceof SealError) return undefined;
    throw error;
  }
}

async function giveUp(
  deps: MailAttemptDeps,
  { mailId, kind }: AttemptedMail,
  { reason, isAddress = false }: { reason: string; isAddress?: boolean },
): Promise<AttemptResult> {
  const isToBuyer = kind?.startsWith('buyer_') ?? false;
  // Merchants misspell addresses of buyers, and no operator can mend that. The order's page shows it.
  if (!isToBuyer || !isAddress) {
    // The alert first: a process that dies between the two raises it again. One outage is one alert, however many
    // buyers it concerns.
    await raiseAlert(deps, {
      kind: 'mail_failed',
      subject: isToBuyer ? 'buyers' : mailId,
      message: `A mail could not be sent: ${reason}`,
      fields: { mailId },
    });
  }
  await markFailed(deps.sql, mailId, reason);
  return { outcome: 'failed', reason };
}
