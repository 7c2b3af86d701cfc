import type { BackgroundWork } from '../background-work.ts';
import type { MailWorkflows } from '../temporal/mail-workflows.ts';
import type { AttemptDeps } from './attempt.ts';
import { attemptFirst } from './attempt.ts';
import type { OutgoingMail } from './mailer.ts';

/** What first attempts need. */
export interface BackgroundMailDeps extends AttemptDeps {
  background: BackgroundWork;
  mails: MailWorkflows;
}

type WrittenMail = OutgoingMail & { kind: string };

/** Makes the first attempts of mails in the background. */
export type BeginMails = (mails: readonly WrittenMail[]) => void;

/**
 * Makes the first attempt of each mail about an order in the process that has written it: a server that accepts it
 * saves a workflow. Otherwise the mail's workflow is started, by this process or, if it dies, by the sweep.
 */
export function createBackgroundMails(deps: BackgroundMailDeps): BeginMails {
  const { background, mailer, mails, log } = deps;

  async function attempt(mail: WrittenMail): Promise<void> {
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
