import { afterAll, expect, test } from 'vitest';
import { createMailer } from '../../src/mail/mailer.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { until } from '../support/until.ts';
import { FROM } from './mail-test.ts';

const MAX_UNDER_WAY = 40;
const mail = {
  mailId: 'm1',
  createdAt: new Date(),
  to: 'asha@example.com',
  subject: 'A subject',
  paragraphs: ['A text'],
};

const smtp = await startSmtpReceiver();
afterAll(() => smtp.stop());

test('in production a server that offers no TLS gets no mail', async () => {
  const mailer = createMailer({ smtpUrl: smtp.url, mailFrom: FROM, requiresTls: true });
  const reason = 'The SMTP server answered 500 to STARTTLS';
  expect(await mailer.send(mail)).toEqual({ outcome: 'postponed', reason });
  expect(smtp.mails).toEqual([]);
});

test('in production a URL may allow a server without TLS', async () => {
  const smtpUrl = `${smtp.url}?requireTLS=false`;
  const mailer = createMailer({ smtpUrl, mailFrom: FROM, requiresTls: true });
  expect(await mailer.send(mail)).toEqual({ outcome: 'accepted' });
});

test('a server that does not respond takes only so many attempts at the same time', async () => {
  const mailer = createMailer({ smtpUrl: smtp.url, mailFrom: FROM, requiresTls: false });
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const acceptAtOnce = smtp.holdEach(() => held);
  const before = smtp.mails.length;
  const sending = Array.from({ length: MAX_UNDER_WAY }, () => mailer.send(mail));
  await until(() => smtp.mails.length > before);
  const reason = 'Too many mails are being sent';
  expect(await mailer.send(mail)).toMatchObject({ outcome: 'postponed', reason });
  release();
  acceptAtOnce();
  expect(new Set((await Promise.all(sending)).map(({ outcome }) => outcome))).toEqual(
    new Set(['accepted']),
  );
});

test('a text that begins a line with a point arrives unchanged, whatever it contains', async () => {
  const mailer = createMailer({ smtpUrl: smtp.url, mailFrom: FROM, requiresTls: false });
  const text = `.\n..\nरुपये ₹499\nhttps://payments.example/reset/${'x'.repeat(300)}`;
  expect(await mailer.send({ ...mail, subject: 'रुपये', paragraphs: [text] })).toEqual({
    outcome: 'accepted',
  });
  const received = smtp.mails.at(-1)!;
  expect(received.text).toBe(`${text}\n\nMerchant Payments\n`);
  expect(received.subject).toBe('रुपये');
});

test('a repeat of a mail is the same message, byte for byte', async () => {
  const mailer = createMailer({ smtpUrl: smtp.url, mailFrom: FROM, requiresTls: false });
  await mailer.send(mail);
  await mailer.send(mail);
  const [first, second] = smtp.mails.slice(-2);
  expect(second?.source).toBe(first?.source);
});
