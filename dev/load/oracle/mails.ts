import type { Sql } from '../../../src/db/client.ts';
import { receivedMails } from '../../mailbox/received.ts';
import { violation, type Report } from './report.ts';
import type { ComparedOrder, ComparedStep, Rows } from './rows.ts';
import type { Compared } from './compared.ts';

/** Whom a step tells, whatever came before it. */
const TOLD: Readonly<Record<string, readonly string[]>> = {
  PAYMENT_SUCCESS: ['buyer_receipt'],
  DELIVERY_CONFIRMED: ['buyer_delivered'],
  DISPUTE_RAISED: ['buyer_dispute_raised', 'merchant_dispute_raised'],
  EVIDENCE_SUBMITTED: ['buyer_evidence'],
  DISPUTE_RESOLVED: ['buyer_dispute_resolved', 'merchant_dispute_ended'],
  REFUND_PROCESSED: ['buyer_refund'],
};

/** The mails of parts other than orders have other ids. */
const OF_ORDER = /^(?:buyer|merchant|surplus|first-payment)-/;

interface MailRow {
  readonly mailId: string;
  readonly orderNumber: string;
  readonly kind: string;
  readonly isSent: boolean;
}

const found = (subject: string, fault: string) => violation('mail', subject, fault);

/**
 * Compares the rows of mails about orders with the steps that must cause mails, and with what the mailbox has
 * received: each mail at least once, and none without a row. SMTP cannot promise once: repeats are counted.
 * Reminders, which no step causes, have to be received only.
 */
export async function compareMails({
  service: { mailboxDataDir },
  sql,
  rows,
}: Compared): Promise<Report> {
  if (mailboxDataDir === undefined) return { violations: [], counts: {} };
  const mails = await sql<MailRow[]>`
    SELECT mail_id, order_number, kind, sent_at IS NOT NULL AS is_sent FROM mails
    WHERE order_number IS NOT NULL ORDER BY kind`;
  const received = new Map(
    [...receivedMails(mailboxDataDir)].filter(([mailId]) => OF_ORDER.test(mailId)),
  );
  const known = new Set(mails.map(({ mailId }) => mailId));
  return {
    violations: [
      ...toldViolations(mails, rows, await surplusOrders(sql)).map((one) => found(...one)),
      ...mails.flatMap(({ mailId, orderNumber, kind, isSent }) => [
        ...(isSent ? [] : [found(orderNumber, `${kind} is not sent`)]),
        ...(received.has(mailId) ? [] : [found(orderNumber, `${kind} was never received`)]),
      ]),
      ...[...received.keys()]
        .filter((mailId) => !known.has(mailId))
        .map((mailId) => found(mailId, 'was received, and has no row')),
    ],
    counts: {
      'mails about orders': mails.length,
      'of them received again': [...received.values()].flat().length - received.size,
    },
  };
}

/** The orders and first payments whose rows are not those of their steps, each with what is wrong. */
function toldViolations(
  mails: readonly MailRow[],
  { orders, steps }: Rows,
  surplus: readonly string[],
): [string, string][] {
  const byOrder = Map.groupBy(mails, ({ orderNumber }) => orderNumber);
  const kindsOf = (orderNumber: string) => (byOrder.get(orderNumber) ?? []).map(({ kind }) => kind);
  const ofSteps = [...orders.values()].flatMap((order): [string, string][] => {
    const { orderNumber } = order;
    const refunds = surplus.filter((one) => one === orderNumber).map(() => 'buyer_refund');
    const expected = [...mailsOf(order, steps.get(orderNumber) ?? []), ...refunds].toSorted();
    const there = kindsOf(orderNumber).filter(
      (kind) => kind !== 'merchant_first_payment' && kind !== 'merchant_dispute_deadline',
    );
    const fault = `its steps tell ${expected.join(', ')}; there are the mails ${there.join(', ')}`;
    return expected.join() === there.join() ? [] : [[orderNumber, fault]];
  });
  const paid = Map.groupBy(
    [...orders.values()].filter(({ gatewayPaymentId }) => gatewayPaymentId !== null),
    ({ merchantId, environment }) => `${merchantId} in ${environment}`,
  );
  const first = [...paid].flatMap(([subject, theirs]): [string, string][] => {
    const count = theirs
      .flatMap(({ orderNumber }) => kindsOf(orderNumber))
      .filter((kind) => kind === 'merchant_first_payment').length;
    return count === 1 ? [] : [[subject, `has ${count} mails about a first payment`]];
  });
  return [...ofSteps, ...first];
}

/** The kinds of the mails that an order's steps must have caused. */
function mailsOf({ settlement }: ComparedOrder, steps: readonly ComparedStep[]): string[] {
  return steps.flatMap(({ kind, isByOperator }, index) => {
    const kinds = TOLD[kind] ?? [];
    const isDisputed = steps[index - 1]?.status.startsWith('DISPUTE') ?? false;
    if (isDisputed && (kind === 'REFUND_PROCESSED' || kind === 'ORDER_COMPLETED')) {
      return [...kinds, 'merchant_dispute_ended'];
    }
    const isOperators =
      (kind === 'REFUND_STARTED' && isByOperator) ||
      (kind === 'REFUND_PROCESSED' && settlement !== null);
    return isOperators && !isDisputed ? [...kinds, 'merchant_refund_by_operator'] : kinds;
  });
}

/** The order of each refund of a payment that its order could not take. */
async function surplusOrders(sql: Sql): Promise<string[]> {
  const refunds = await sql<{ orderNumber: string }[]>`SELECT order_number FROM surplus_refunds`;
  return refunds.map(({ orderNumber }) => orderNumber);
}
