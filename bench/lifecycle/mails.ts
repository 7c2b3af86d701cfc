import { setTimeout as delay } from 'node:timers/promises';
import type { Target } from '../harness/benchmark.ts';

/** The names of the sides with `--mails`. */
export const WITH_MAILS = 'with mails';
const WITHOUT_MAILS = 'without mails';

/** The settings of a service that sends no mails about the orders of this benchmark, which are in the sandbox. */
const NO_MAILS = {
  SMTP_URL: 'smtp://127.0.0.1:9',
  MAIL_FROM: 'nobody@localhost',
  SANDBOX_MAILS: 'off',
};

/** The sides of a comparison without and with mails; `npm start` sends them to its mailbox. */
export const mailSides = (folder: string) => [
  { name: WITH_MAILS, folder, settings: {} },
  { name: WITHOUT_MAILS, folder, settings: NO_MAILS },
];

/** Mails may take a tenth of the service's processor time. */
export const MAIL_TARGET: Target = { of: `cpu-ratio-${WITHOUT_MAILS}`, atMost: 1.1 };

/** The receipt, and that the order is delivered. */
const MAILS_PER_LIFECYCLE = 2;
/** To the merchant of all lifecycles, about the first payment. */
const FIRST_PAYMENTS = 1;

const POLL_MS = 500;
/** A mail that the mailbox did not accept at once is sent again within 15 s. */
const ALL_WITHIN_MS = 60_000;

const isAboutOrder = (mailId: string) => /^(?:buyer|merchant|surplus|first-payment)-/.test(mailId);

/**
 * Compares the mails that a side's mailbox has received with what its lifecycles must cause, once all are there.
 *
 * @returns the difference; nothing if there is none
 */
export async function mailFailures(
  { mailIds }: { mailIds: () => string[] },
  lifecycles: number,
): Promise<string[]> {
  const expected = MAILS_PER_LIFECYCLE * lifecycles + FIRST_PAYMENTS;
  const count = () => mailIds().filter(isAboutOrder).length;
  const endsAt = performance.now() + ALL_WITHIN_MS;
  while (count() < expected && performance.now() < endsAt) await delay(POLL_MS);
  const found = count();
  return found === expected
    ? []
    : [`${lifecycles} lifecycles must cause ${expected} mails, and caused ${found}`];
}
