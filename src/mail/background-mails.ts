import type { BackgroundWork } from '../background-work.ts';
import type { MailWorkflows } from '../temporal/mail-workflows.ts';
import type { FirstMail, MailAttemptDeps } from './attempt.ts';
import { attemptFirst } from './attempt.ts';

/** What first attempts need. */
export interface BackgroundMailDeps extends MailAttemptDeps {
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
