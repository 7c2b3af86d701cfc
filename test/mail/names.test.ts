import { expect } from 'vitest';
import { createMerchant } from '../../src/merchants/commands.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { until } from '../support/until.ts';
import { alertsOf, FROM } from './mail-test.ts';

const smtp = await startSmtpReceiver();
const test = serviceTest({
  time: 'real',
  settings: { SMTP_URL: smtp.url, MAIL_FROM: FROM, SANDBOX_MAILS: 'on' },
  merchant: { webhooks: false },
});
test.afterAll(() => smtp.stop());

const NOT_ONE_LINE = 'name must be one line without control or invisible characters';

test.for([
  ['a tab', 'Asha\tTextiles', NOT_ONE_LINE],
  ['a new line', 'Asha\r\nBcc: x', NOT_ONE_LINE],
  ['U+0085', 'Asha\u0085Textiles', NOT_ONE_LINE],
  ['U+2028', 'Asha\u2028Textiles', NOT_ONE_LINE],
  ['U+2029', 'Asha\u2029Textiles', NOT_ONE_LINE],
  ['a text direction', 'Asha\u202ETextiles', NOT_ONE_LINE],
  ['a zero-width space', 'Asha\u200BTextiles', NOT_ONE_LINE],
  ['an unpaired surrogate', 'Asha\uD800', NOT_ONE_LINE],
  ['joiners alone', '\u200D\u200C', 'name must not be blank'],
  ['too many characters', 'x'.repeat(201), 'name must be at most 200 characters'],
] as const)(
  'a merchant with %s in its name is refused',
  async ([_what, name, message], { service }) => {
    const created = createMerchant(
      { sql: service.sql, actor: TEST_ACTOR },
      { name, email: 'asha@shop.example' },
    );
    await expect(created).rejects.toMatchObject({ code: 'BAD_REQUEST', message });
  },
);

test('a name in a script that needs joiners is taken', async ({ service }) => {
  const name = 'क्\u200Dष श्री & Co. (Pune)';
  const deps = { sql: service.sql, actor: TEST_ACTOR };
  expect(await createMerchant(deps, { name, email: 'asha@shop.example' })).toMatchObject({ name });
});

let buyers = 0;
/** The subject of the receipt of a paid order. */
async function receiptOf({ sandbox }: Merchant): Promise<string> {
  const buyerEmail = `buyer-${(buyers += 1)}@example.com`;
  const order = await sandbox.create({ buyerEmail });
  await sandbox.help(order, 'pay');
  const [mail] = await smtp.received(buyerEmail);
  return mail?.subject ?? '';
}

test.for([
  ['190 characters', 'x'.repeat(190), `[sandbox] You paid ₹499.50 to ${'x'.repeat(169)}…`],
  [
    '190 letters of Devanagari',
    'क'.repeat(190),
    `[sandbox] You paid ₹499.50 to ${'क'.repeat(169)}…`,
  ],
  ['a tab', 'Asha\tTextiles', '[sandbox] You paid ₹499.50 to Asha Textiles'],
  ['U+2028', 'Asha\u2028Textiles', '[sandbox] You paid ₹499.50 to Asha Textiles'],
] as const)(
  'a buyer is told of the payment although the name of the merchant has %s',
  async ([_what, name, subject], { service }) => {
    const merchant = await service.newMerchant({ webhooks: false });
    await service.sql`UPDATE merchants SET name = ${name} WHERE merchant_id = ${merchant.merchantId}`;
    expect(await receiptOf(merchant)).toBe(subject);
  },
);

test('a mail that cannot be made raises an alert', async ({ service, merchant }) => {
  const order = await merchant.sandbox.create();
  await service.sql`UPDATE orders SET buyer_email = 'a b' WHERE order_number = ${order.order_number}`;
  await merchant.sandbox.help(order, 'pay');
  const found = async () =>
    (await alertsOf(service, 'mail_failed')).filter(
      ({ subject }) => subject === order.order_number,
    );
  await until(async () => (await found()).length === 1);
  expect((await found())[0]?.details).toMatchObject({
    mailKind: 'buyer_receipt',
    error: 'The recipient is not one address',
  });
});

test.for([
  ['no such user', '5.1.1 No such user', 0],
  ['no relaying', '5.7.1 Relay access denied', 1],
] as const)(
  'what a server refuses for good is an alert unless it is the address of the buyer: %s',
  async ([_what, message, count], { service, merchant }) => {
    await service.sql`UPDATE alerts SET cleared_at = now() WHERE kind = 'mail_failed' AND cleared_at IS NULL`;
    const order = await merchant.sandbox.create({
      buyerEmail: `buyer-${(buyers += 1)}@example.com`,
    });
    const accept = smtp.refuseAll({ responseCode: 554, message });
    await merchant.sandbox.help(order, 'pay');
    await until(async () => {
      const failed = await service.sql`SELECT FROM mails
      WHERE order_number = ${order.order_number} AND kind = 'buyer_receipt' AND failed_at IS NOT NULL`;
      return failed.length > 0;
    });
    accept();
    const ofBuyers = (await alertsOf(service, 'mail_failed')).filter(
      ({ subject }) => subject === 'buyers',
    );
    expect(ofBuyers).toHaveLength(count);
  },
);
