import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { sweep } from '../support/gateway.ts';
import { untilBlocked } from '../support/locks.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import type { ReceivedMail } from '../support/smtp-receiver.ts';
import { headerOf, startSmtpReceiver } from '../support/smtp-receiver.ts';
import { UNTIL_MS } from '../support/time-limits.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';
import { FROM } from './mail-test.ts';

/** Longer than a mail's row waits for the process that has written it. */
const SWEPT_AFTER_MS = 61_000;
const MARK = 'UPDATE mails SET sent_at';

const smtp = await startSmtpReceiver();
// Real time: the server that skips time leaves the tasks of a workflow that a dead worker has cached
// to that worker.
const test = serviceTest({
  time: 'real',
  worker: false,
  settings: {
    SMTP_URL: smtp.url,
    MAIL_FROM: FROM,
    SANDBOX_MAILS: 'on',
    SWEEP_AFTER_SECONDS: '0.001',
  },
});
test.afterAll(() => smtp.stop());

/** What is done to an order, and the mails about the step that it causes. */
interface Act {
  path: (orderNumber: string) => string;
  body?: object;
  mails: readonly string[];
}

const ACTS: readonly Act[] = [
  {
    path: (id) => `/test-helpers/orders/${id}/pay`,
    mails: ['buyer_receipt', 'merchant_first_payment'],
  },
  { path: (id) => `/orders/${id}/deliver`, mails: ['buyer_delivered'] },
  {
    path: (id) => `/test-helpers/orders/${id}/dispute`,
    body: { reason: 'It never came' },
    mails: ['buyer_dispute_raised', 'merchant_dispute_raised'],
  },
  {
    path: (id) => `/orders/${id}/dispute/evidence`,
    body: { text: 'It was handed over' },
    mails: ['buyer_evidence'],
  },
  {
    path: (id) => `/orders/${id}/dispute/resolve`,
    body: { resolution: 'A new parcel is on its way' },
    mails: ['buyer_dispute_resolved', 'merchant_dispute_ended'],
  },
  {
    path: (id) => `/orders/${id}/refund`,
    body: { reason: 'Broken in the store' },
    mails: ['buyer_refund'],
  },
];

interface MailedOrder {
  merchant: Merchant;
  orderNumber: string;
  /** Of the buyer and of the merchant, whom no other order has. */
  addresses: string[];
}

async function createOrder(service: TestService, name: string): Promise<MailedOrder> {
  const merchant = await service.newMerchant({ webhooks: false });
  const addresses = [`buyer-${name}@example.com`, `owner-${name}@example.com`];
  const [buyerEmail, email = ''] = addresses;
  await service.sql`UPDATE merchants SET email = ${email} WHERE merchant_id = ${merchant.merchantId}`;
  const { order_number: orderNumber } = await merchant.sandbox.create({ buyerEmail });
  return { merchant, orderNumber, addresses };
}

/** Does an act as a client does: repeats the request while the answer is that the service failed. */
async function perform({ merchant, orderNumber }: MailedOrder, act: Act): Promise<void> {
  const headers = { 'Idempotency-Key': randomUUID() };
  const post = () => merchant.sandbox.post(act.path(orderNumber), act.body ?? {}, headers);
  let answer = await post();
  while (answer.status >= 500) answer = await post();
  expect(answer.status, answer.body.message).toBe(200);
}

const waitingMails = ({ sql }: Pick<TestService, 'sql'>, { orderNumber }: MailedOrder) =>
  sql<{ mailId: string; kind: string }[]>`
    SELECT mail_id, kind FROM mails WHERE order_number = ${orderNumber} AND sealed IS NOT NULL
    ORDER BY kind`;

/** Keeps the server from taking the mails of one order, and from accepting those of others. */
function holdMails(early: MailedOrder) {
  const killed = Promise.withResolvers<void>();
  const accepted = Promise.withResolvers<void>();
  let named = 0;
  let taken = 0;
  const ends = [
    smtp.holdRecipients(async (address) => {
      if (!early.addresses.includes(address)) return;
      named += 1;
      await killed.promise;
    }),
    smtp.holdEach(async () => {
      taken += 1;
      await accepted.promise;
    }),
  ];
  return {
    untilHeld: (count: number) => until(() => named === count && taken === count),
    accept: () => accepted.resolve(),
    end() {
      killed.resolve();
      for (const end of ends) end();
    },
  };
}

/** Has the server accept the mails of an order, and kills the worker before it marks one of them. */
async function killBeforeMark(
  { sql }: TestService,
  order: MailedOrder,
  { accept, kill }: { accept: () => void; kill: () => Promise<void> },
): Promise<void> {
  await sql.begin(async (locking) => {
    const { count } = await locking`
      SELECT FROM mails WHERE order_number = ${order.orderNumber} AND sealed IS NOT NULL FOR UPDATE`;
    accept();
    await untilBlocked({ sql }, MARK, count);
    await kill();
    // PostgreSQL would carry out the statements of a client that is dead.
    await sql`
      SELECT pg_terminate_backend(pid, ${UNTIL_MS}) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND strpos(query, ${MARK}) > 0`;
  });
}

const messageIdOf = (mail: ReceivedMail) =>
  headerOf(mail, 'Message-ID')?.replace(/^<(.*)@payments\.example>$/, '$1') ?? '';

/** The ids of the mails that wait after a worker was killed, by what the SMTP server made of them. */
interface KilledMails {
  notTaken: string[];
  accepted: string[];
}

/**
 * Does an act to two orders, and kills the worker when it sends the mails about it: before the server takes
 * those of the first order, and between acceptance and mark of those of the second.
 */
async function killDuring(
  service: TestService,
  [early, late]: readonly [MailedOrder, MailedOrder],
  act: Act,
  kill: () => Promise<void>,
): Promise<KilledMails & { performed: Promise<unknown> }> {
  const held = holdMails(early);
  const performed = Promise.all([perform(early, act), perform(late, act)]);
  const allHeld = held.untilHeld(act.mails.length);
  // An act that is refused fails the test at once.
  await Promise.race([allHeld, performed.then(() => allHeld)]);
  await killBeforeMark(service, late, { accept: held.accept, kill });
  held.end();
  const waitingIds = async (order: MailedOrder) => {
    const waiting = await waitingMails(service, order);
    expect(waiting.map(({ kind }) => kind)).toEqual(act.mails);
    return waiting.map(({ mailId }) => mailId);
  };
  return { notTaken: await waitingIds(early), accepted: await waitingIds(late), performed };
}

test('each step tells its readers with one mail each, whenever the worker is killed', async ({
  service,
  onTestFinished,
}) => {
  const orders = [await createOrder(service, 'early'), await createOrder(service, 'late')] as const;
  const copies = new Map<string, number>();
  let worker = await startWorkerProcess(service);
  onTestFinished(() => worker.kill());

  for (const act of ACTS) {
    const killed = await killDuring(service, orders, act, () => worker.kill());
    for (const id of killed.notTaken) copies.set(id, 1);
    for (const id of killed.accepted) copies.set(id, 2);
    worker = await startWorkerProcess(service);
    await killed.performed;
    await service.clock.advance(SWEPT_AFTER_MS);
    await sweep(service);
    for (const order of orders) {
      await until(async () => (await waitingMails(service, order)).length === 0);
    }
  }

  for (const { orderNumber } of orders) {
    const rows = await service.sql<{ kind: string; sentAt: Date | null }[]>`
      SELECT kind, sent_at FROM mails WHERE order_number = ${orderNumber}`;
    const kinds = rows.flatMap(({ kind, sentAt }) => (sentAt === null ? [] : [kind]));
    expect(rows).toHaveLength(kinds.length);
    expect(kinds.toSorted()).toEqual(ACTS.flatMap(({ mails }) => mails).toSorted());
  }
  const received = Map.groupBy(smtp.mails, messageIdOf);
  expect(new Map([...received].map(([id, { length }]) => [id, length]))).toEqual(copies);
  for (const mails of received.values()) {
    expect(mails.at(-1)?.source).toBe(mails[0]?.source);
  }
});
