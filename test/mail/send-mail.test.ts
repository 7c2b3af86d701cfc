import { expect } from 'vitest';
import { sendMail } from '../../src/mail/public.ts';
import { serviceTest } from '../support/service-test.ts';
import { headerOf, startSmtpReceiver } from '../support/smtp-receiver.ts';
import { until } from '../support/until.ts';
import {
  alertsOf,
  FROM,
  historyOf,
  mailDepsOf,
  rowOf,
  untilDone,
  untilEnded,
  untilPostponed,
} from './mail-test.ts';

const HOUR_MS = 3_600_000;
/** The wait after the first attempt. */
const FIRST_WAIT_MS = 15_000;
const TEXT = 'Open this link to confirm your address:\nhttps://payments.example/confirm/abc';

const smtp = await startSmtpReceiver();
const test = serviceTest({
  time: 'skipping',
  settings: { SMTP_URL: smtp.url, MAIL_FROM: FROM },
});
test.afterAll(() => smtp.stop());

test('a mail is sent once, and its content is deleted', async ({ service }) => {
  const to = 'asha@example.com';
  await sendMail(mailDepsOf(service), {
    mailId: 'one',
    to,
    subject: 'Confirm',
    paragraphs: [TEXT],
  });
  expect(await untilDone(service, 'one')).toMatchObject({
    sentAt: expect.any(Date),
    failedAt: null,
  });
  const [mail, ...others] = await smtp.received(to);
  expect(others).toEqual([]);
  expect(mail).toMatchObject({ from: 'no-reply@payments.example', to: [to] });
  expect(headerOf(mail!, 'From')).toBe(FROM);
  expect(headerOf(mail!, 'To')).toBe(to);
  expect(headerOf(mail!, 'Subject')).toBe('Confirm');
  expect(headerOf(mail!, 'Message-ID')).toBe('<one@payments.example>');
  expect(headerOf(mail!, 'Auto-Submitted')).toBe('auto-generated');
  expect(headerOf(mail!, 'Content-Type')).toMatch(/^multipart\/alternative;/);
  expect(mail!.text).toBe(`${TEXT}\n\nMerchant Payments\n`);
  expect(mail!.html).toContain('<h1 dir="auto">Confirm</h1>');
  await untilEnded(service, 'one');
});

test('before it is sent, a mail is encrypted in the database', async ({ service, worker }) => {
  const mail = { mailId: 'sealed', to: 'ravi@example.com', subject: 'Reset', paragraphs: [TEXT] };
  await worker.whileStopped(async () => {
    await sendMail(mailDepsOf(service), mail);
    const { sealed } = (await rowOf(service, 'sealed'))!;
    const stored = Buffer.from(sealed!).toString('latin1');
    for (const part of [mail.to, mail.subject, 'confirm/abc']) expect(stored).not.toContain(part);
  });
  expect(await smtp.received(mail.to)).toHaveLength(1);
  await untilEnded(service, 'sealed');
});

test('the same mail id twice is one mail, also at the same time', async ({ service }) => {
  const mail = { mailId: 'twice', to: 'twice@example.com', subject: 'Once', paragraphs: [TEXT] };
  const deps = mailDepsOf(service);
  await Promise.all([sendMail(deps, mail), sendMail(deps, mail)]);
  await untilDone(service, 'twice');
  await sendMail(deps, mail);
  await untilEnded(service, 'twice');
  expect(await smtp.received(mail.to)).toHaveLength(1);
});

test('a mail is sent when the server accepts it after temporary refusals', async ({ service }) => {
  const to = 'later@example.com';
  smtp.answerWith(
    { responseCode: 451, message: `4.7.1 <${to}> is greylisted` },
    { responseCode: 421, message: 'Too busy' },
  );
  await sendMail(mailDepsOf(service), {
    mailId: 'later',
    to,
    subject: 'Later',
    paragraphs: [TEXT],
  });
  await untilPostponed(service, 'later', 1);
  await service.skip(FIRST_WAIT_MS);
  await untilPostponed(service, 'later', 2);
  await service.skip(2 * FIRST_WAIT_MS);
  expect(await smtp.received(to)).toHaveLength(1);
  expect(await untilDone(service, 'later')).toMatchObject({ failedAt: null });
});

test('a mail is sent when a server that was down is back', async ({ service }) => {
  const to = 'down@example.com';
  await smtp.stop();
  await sendMail(mailDepsOf(service), { mailId: 'down', to, subject: 'Down', paragraphs: [TEXT] });
  await untilPostponed(service, 'down', 1);
  await smtp.start();
  await service.skip(FIRST_WAIT_MS);
  expect(await smtp.received(to)).toHaveLength(1);
});

test('a mail that no key opens waits for the key', async ({ service }) => {
  const { sql } = service;
  const to = 'no-key@example.com';
  await sendMail(
    { ...mailDepsOf(service), mails: { start: async () => {} } },
    { mailId: 'no-key', to, subject: 'Keys', paragraphs: [TEXT] },
  );
  const [{ sealed } = { sealed: null }] =
    await sql`SELECT sealed FROM mails WHERE mail_id = 'no-key'`;
  await sql`UPDATE mails SET sealed = '\\x6f6c642e00' WHERE mail_id = 'no-key'`;
  await mailDepsOf(service).mails.start('no-key');
  await untilPostponed(service, 'no-key', 1);
  const reason = 'No key of DATA_ENCRYPTION_KEYS opens the mail';
  expect(service.logged).toContainEqual(expect.objectContaining({ mailId: 'no-key', reason }));
  await sql`UPDATE mails SET sealed = ${sealed} WHERE mail_id = 'no-key'`;
  await service.skip(FIRST_WAIT_MS);
  expect(await smtp.received(to)).toHaveLength(1);
});

test('a mail that the server refuses permanently fails immediately, with an alert', async ({
  service,
}) => {
  const to = 'unknown@example.com';
  smtp.answerWith({ responseCode: 550, message: `5.1.1 <${to}>: no such user` });
  const before = smtp.attempts();
  await sendMail(mailDepsOf(service), {
    mailId: 'refused',
    to,
    subject: 'Refused',
    paragraphs: [TEXT],
  });
  const reason = 'The SMTP server answered 550 to RCPT TO';
  expect(await untilDone(service, 'refused')).toMatchObject({ sentAt: null, failure: reason });
  await until(async () => (await alertsOf(service, 'mail_failed')).length === 1);
  const [alert] = await alertsOf(service, 'mail_failed');
  expect(alert).toMatchObject({ subject: 'refused' });
  expect(JSON.stringify([alert, service.logged])).not.toContain(to);
  const result = service.temporal.client.workflow.getHandle('mail-refused').result();
  await expect(result).rejects.toMatchObject({ cause: { cause: { type: 'MAIL_FAILED' } } });
  expect(smtp.attempts()).toBe(before + 1);
});

test('a mail that cannot be sent for 24 hours has failed, and its content is deleted', async ({
  service,
}) => {
  const to = 'never@example.com';
  const acceptAgain = smtp.refuseAll({ responseCode: 452, message: 'Full' });
  await sendMail(mailDepsOf(service), {
    mailId: 'never',
    to,
    subject: 'Never',
    paragraphs: [TEXT],
  });
  await untilPostponed(service, 'never', 1);
  const before = smtp.attempts() - 1;
  const attemptsAfter = async (ms: number) => {
    const attempts = smtp.attempts();
    // The next retry is timed from the failure: time must not be skipped before Temporal has it.
    await untilPostponed(service, 'never', attempts - before);
    await service.skip(ms);
    await until(() => smtp.attempts() > attempts);
  };
  await attemptsAfter(FIRST_WAIT_MS);
  await attemptsAfter(23 * HOUR_MS);
  await attemptsAfter(HOUR_MS / 2);
  expect(await rowOf(service, 'never')).toMatchObject({ failedAt: null });
  await attemptsAfter(HOUR_MS);
  const reason = 'The SMTP server answered 452 to RCPT TO';
  expect(await untilDone(service, 'never')).toMatchObject({ sentAt: null, failure: reason });
  acceptAgain();
  expect(smtp.mails.filter((mail) => mail.to.includes(to))).toEqual([]);
});

test('Temporal and the logs have nothing personal of a mail', async ({ service }) => {
  for (const mailId of ['one', 'later', 'refused']) {
    const history = await historyOf(service, mailId);
    expect(history).toContain(mailId);
    expect(history).not.toMatch(/@example\.com|Confirm|confirm\/abc|greylisted/);
  }
  expect(JSON.stringify(service.logged)).not.toContain('@example.com');
});

test.for([
  ['another header', 'a@example.com\r\nBcc: b@example.com', 'Hello'],
  ['another recipient', 'a@example.com, b@example.com', 'Hello'],
  ['a name', 'Asha <a@example.com>', 'Hello'],
  ['no address', 'asha', 'Hello'],
  ['another header in the subject', 'a@example.com', 'Hello\r\nBcc: b@example.com'],
  ['a second line in the subject', 'a@example.com', 'Hello\nyou'],
] as const)('a mail with %s is refused, and not written', async ([, to, subject], { service }) => {
  const mail = { mailId: 'injected', to, subject, paragraphs: [TEXT] };
  await expect(sendMail(mailDepsOf(service), mail)).rejects.toMatchObject({ code: 'BAD_REQUEST' });
  expect(await rowOf(service, 'injected')).toBeUndefined();
});
