import { WorkflowNotFoundError } from '@temporalio/client';
import { expect } from 'vitest';
import { createActivities } from '../../activities/index.ts';
import {
  decideDispute,
  raiseDisputeForBuyer,
  refundForMerchant,
} from '../../src/orders/commands/operator-commands.ts';
import type { Merchant } from '../support/merchant.ts';
import { operatorOf } from '../support/operator-of.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import type { ReceivedMail } from '../support/smtp-receiver.ts';
import { headerOf, startSmtpReceiver } from '../support/smtp-receiver.ts';
import { until } from '../support/until.ts';
import { operatorUser } from '../support/users.ts';
import { visitorOf } from '../dashboard/visitor.ts';
import { FROM } from './mail-test.ts';

const HOUR_MS = 3_600_000;
const REASON = 'The parcel was empty when it came';
const SUPPORT = 'help@payments.example';
const BUYER_REFUND = '[sandbox] ₹499.50 is on its way back to you';

const smtp = await startSmtpReceiver();
const test = serviceTest({
  time: 'skipping',
  settings: { SMTP_URL: smtp.url, MAIL_FROM: FROM, SANDBOX_MAILS: 'on', SUPPORT_EMAIL: SUPPORT },
  merchant: { webhooks: false },
});
test.afterAll(() => smtp.stop());

interface Order {
  order_number: string;
  payment_url: string;
}

let buyers = 0;
/** A paid order of a buyer that no other test has. */
async function paidOrder({ sandbox }: Merchant, sql: TestService['sql'], language = 'en') {
  const buyerEmail = `buyer-${(buyers += 1)}@example.com`;
  const order: Order = await sandbox.create({ buyerEmail, description: 'Blue <kurta>' });
  await sql`
    UPDATE orders SET buyer_language = ${language} WHERE order_number = ${order.order_number}`;
  await sandbox.help(order, 'pay');
  return { ...order, buyerEmail };
}

const evidence = { text: 'It was handed over, see the signature' };
const post = ({ sandbox }: Merchant, { order_number: id }: Order, path: string, body?: unknown) =>
  sandbox.post(`/orders/${id}${path}`, body);

/** The mail with this subject, once it has come: of two, the later one may come first. */
const mailTo = (to: string, subject: string) =>
  until(() => smtp.mails.find((mail) => mail.to.includes(to) && mail.subject === subject));

const mailIdOf = (mail: ReceivedMail) => headerOf(mail, 'Message-ID')?.slice(1).split('@')[0];

/** The mails of an order, without that of the merchant's first payment. */
const mailsOf = ({ sql }: TestService, { order_number: id }: Order) =>
  sql<{ kind: string; sentAt: Date | null; failedAt: Date | null }[]>`
    SELECT kind, sent_at, failed_at FROM mails
    WHERE order_number = ${id} AND kind <> 'merchant_first_payment' ORDER BY created_at, mail_id`;

/** The kinds of the mails of an order, once all are sent. */
async function sentKinds(service: TestService, order: Order, count: number): Promise<string[]> {
  const sent = async () => (await mailsOf(service, order)).filter(({ sentAt }) => sentAt !== null);
  await until(async () => (await sent()).length >= count);
  return (await sent()).map(({ kind }) => kind);
}

test('a buyer gets a receipt and is told of the delivery, each by the process that recorded it', async ({
  service,
  merchant,
}) => {
  const order = await paidOrder(merchant, service.sql);
  const [receipt] = await smtp.received(order.buyerEmail);
  expect(receipt?.subject).toBe('[sandbox] You paid ₹499.50 to Asha Textiles');
  const { data } = (await merchant.sandbox.get(`/orders/${order.order_number}`)).body;
  for (const part of [
    `Order: ${order.order_number}`,
    `Payment id: ${data.payment?.gateway_payment_id}`,
    `UTR: ${data.payment?.utr}`,
    'For: Blue <kurta>',
    'until 24 hours after the delivery',
    `${order.payment_url}?language=en`,
    SUPPORT,
  ]) {
    expect(receipt?.text).toContain(part);
  }
  expect(receipt?.html).toContain('Blue &lt;kurta>');
  await post(merchant, order, '/deliver');
  const [, delivered] = await smtp.received(order.buyerEmail, 2);
  expect(delivered?.subject).toBe('[sandbox] Asha Textiles has delivered your order');
  expect(delivered?.text).toMatch(/raise a dispute by \d+ \w+, \d+:\d\d\u00A0[ap]m\u00A0IST/);
  expect(await sentKinds(service, order, 2)).toEqual(['buyer_receipt', 'buyer_delivered']);
  // The workflows of mails were not needed.
  const handle = service.temporal.client.workflow.getHandle(`mail-${mailIdOf(receipt!)}`);
  await expect(handle.describe()).rejects.toThrow(WorkflowNotFoundError);
});

test('each turn of a dispute is told to buyer and merchant, in the buyer’s language', async ({
  service,
  merchant,
}) => {
  const order = await paidOrder(merchant, service.sql, 'hi');
  await post(merchant, order, '/deliver');
  await merchant.sandbox.help(order, 'dispute', { reason: REASON });
  await post(merchant, order, '/dispute/evidence', evidence);
  await post(merchant, order, '/dispute/resolve', { resolution: 'A new parcel is on its way' });
  expect(await sentKinds(service, order, 7)).toEqual(
    expect.arrayContaining([
      'buyer_receipt',
      'buyer_delivered',
      'buyer_dispute_raised',
      'merchant_dispute_raised',
      'buyer_evidence',
      'buyer_dispute_resolved',
      'merchant_dispute_ended',
    ]),
  );
  const mails = await smtp.received(order.buyerEmail, 5);
  for (const { html, text } of mails) {
    expect(html).toContain('<html lang="hi">');
    expect(text).toContain('?language=hi');
    // What a buyer or a merchant has typed is on the page, and not in a mail.
    expect(text).not.toMatch(/parcel|signature/);
  }
});

test('an operator’s decisions and refunds are told to both', async ({ service, merchant }) => {
  const operator = operatorOf(service);
  const decided = await paidOrder(merchant, service.sql);
  await raiseDisputeForBuyer(operator, decided.order_number, REASON);
  await decideDispute(operator, decided.order_number, { winner: 'buyer', reason: REASON });
  const kinds = await sentKinds(service, decided, 5);
  expect(kinds.toSorted()).toEqual([
    'buyer_dispute_raised',
    'buyer_receipt',
    'buyer_refund',
    'merchant_dispute_ended',
    'merchant_dispute_raised',
  ]);
  const raised = await mailTo(decided.buyerEmail, '[sandbox] Your dispute is raised');
  expect(raised.text).toContain('We have raised a dispute for you');
  const refund = await mailTo(decided.buyerEmail, BUYER_REFUND);
  expect(refund.text).toContain('We have decided your dispute for you.');
  expect(refund.text).toContain('5 to 7 working days');

  const refunded = await paidOrder(merchant, service.sql);
  const { merchantId } = merchant;
  await service.sql`UPDATE merchants SET status = 'SUSPENDED' WHERE merchant_id = ${merchantId}`;
  try {
    await refundForMerchant(operator, refunded.order_number, REASON);
    expect((await sentKinds(service, refunded, 3)).toSorted()).toEqual([
      'buyer_receipt',
      'buyer_refund',
      'merchant_refund_by_operator',
    ]);
  } finally {
    await service.sql`UPDATE merchants SET status = 'APPROVED' WHERE merchant_id = ${merchantId}`;
  }
});

test('a dispute that nobody ends is told to both when it has ended', async ({
  service,
  merchant,
}) => {
  const order = await paidOrder(merchant, service.sql);
  await merchant.sandbox.help(order, 'dispute', { reason: REASON });
  await sentKinds(service, order, 3);
  await service.skip(72 * HOUR_MS + 1000);
  const kinds = await sentKinds(service, order, 5);
  expect(kinds).toContain('buyer_refund');
  expect(kinds).toContain('merchant_dispute_ended');
});

test('a first attempt that fails is followed by the workflow, with the same Message-ID', async ({
  service,
  merchant,
}) => {
  smtp.answerWith({ responseCode: 451, message: '4.7.1 greylisted' });
  const order = await paidOrder(merchant, service.sql);
  await sentKinds(service, order, 1);
  const mails = await smtp.received(order.buyerEmail);
  expect(mails).toHaveLength(1);
  const handle = service.temporal.client.workflow.getHandle(`mail-${mailIdOf(mails[0]!)}`);
  await until(async () => (await handle.describe()).status.name === 'COMPLETED');
});

test('an address that the server refuses ends the mail, and is no alert', async ({
  service,
  merchant,
}) => {
  smtp.answerWith({ responseCode: 550, message: '5.1.1 no such user' });
  const order = await paidOrder(merchant, service.sql);
  await until(async () => (await mailsOf(service, order))[0]?.failedAt);
  const alerts = await service.sql`SELECT FROM alerts WHERE kind = 'mail_failed'`;
  expect(alerts).toHaveLength(0);
  const { cookie } = await operatorUser(service.sql, 'support');
  const operator = visitorOf(service.origin, { cookie });
  const { body } = await operator.get(`/operator/orders/${order.order_number}`);
  expect(body).toContain('To the buyer: receipt');
  expect(body).toContain('The SMTP server answered 550 to RCPT TO');
  const { data } = (await merchant.sandbox.get(`/orders/${order.order_number}`)).body;
  expect(data.status).toBe('PAID');
});

test('the first payment of a merchant is told once, also if two come at the same time', async ({
  service,
}) => {
  const newcomer = await service.newMerchant({ webhooks: false });
  const { merchantId } = newcomer;
  await Promise.all([1, 2, 3].map(() => paidOrder(newcomer, service.sql)));
  const [{ count } = { count: 0 }] = await service.sql<{ count: number }[]>`
    SELECT count(*)::integer FROM mails WHERE kind = 'merchant_first_payment'
      AND mail_id = ${`first-payment-${merchantId}-sandbox`}`;
  expect(count).toBe(1);
  const [all] = await service.sql<{ count: number }[]>`
    SELECT count(*)::integer FROM mails JOIN orders USING (order_number)
    WHERE merchant_id = ${merchantId} AND kind = 'merchant_first_payment'`;
  expect(all?.count).toBe(1);
});

test('a merchant is reminded once, 24 hours before a dispute would be refunded', async ({
  service,
  merchant,
}) => {
  const order = await paidOrder(merchant, service.sql);
  await merchant.sandbox.help(order, 'dispute', { reason: REASON });
  const { remindOfDisputes } = createActivities(service.deps);
  expect(await remindOfDisputes()).toEqual({ mails: 0 });
  await service.skip(47 * HOUR_MS);
  expect(await remindOfDisputes()).toEqual({ mails: 0 });
  await service.skip(1.1 * HOUR_MS);
  const counts = await Promise.all([remindOfDisputes(), remindOfDisputes()]);
  expect(counts.reduce((sum, { mails }) => sum + mails, 0)).toBe(1);
  expect(await remindOfDisputes()).toEqual({ mails: 0 });
  expect(await sentKinds(service, order, 4)).toContain('merchant_dispute_deadline');
  const reminders = (await smtp.received('owner@example.com')).filter(({ text }) =>
    text.includes('You have not answered this dispute.'),
  );
  expect(reminders).toHaveLength(1);
  expect(reminders[0]?.subject).toBe(
    '[sandbox] The dispute about ₹499.50 ends in less than 24 hours',
  );
});

test('the refund of a second payment is told to the buyer', async ({ service, merchant }) => {
  const order = await paidOrder(merchant, service.sql);
  await merchant.sandbox.help(order, 'second-payment');
  expect(await sentKinds(service, order, 2)).toEqual(['buyer_receipt', 'buyer_refund']);
  const { text } = await mailTo(order.buyerEmail, BUYER_REFUND);
  expect(text).toContain('was already paid when your payment came');
});
