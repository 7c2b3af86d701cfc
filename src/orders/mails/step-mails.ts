import { createHash } from 'node:crypto';
import type { AlertDeps } from '../../alerts/alerts.ts';
import { raiseAlert } from '../../alerts/alerts.ts';
import type { Sql } from '../../db/client.ts';
import type { Environment, Step } from '../../domain/index.ts';
import { DomainError } from '../../domain/index.ts';
import type { Letter, OutgoingMail, PreparedMail } from '../../mail/public.ts';
import { onOneLine, prepareMail } from '../../mail/public.ts';
import type { MailReader } from '../../merchants/public.ts';
import { joinMailReader, mailReader } from '../../merchants/public.ts';
import type { SecretBox } from '../../secret-box.ts';
import type { OrderRow } from '../rows.ts';
import type { BuyerMailKind, SurplusRefund } from './buyer-letters.ts';
import { buyerLetterOf, surplusLetter } from './buyer-letters.ts';
import type { MerchantMailKind } from './merchant-letters.ts';
import { merchantLetterOf } from './merchant-letters.ts';
import type { NoticedOrder, StepCircumstances } from './noticed-order.ts';

export interface OrderMailDeps extends AlertDeps {
  mailBox: SecretBox;
  publicBaseUrl: string;
  /** Only orders of these environments send mails. */
  mailedEnvironments: readonly Environment[];
}

export type OrderMailKind = BuyerMailKind | MerchantMailKind;

export interface OrderMail extends PreparedMail {
  kind: OrderMailKind;
}

export type MailedOrder = Omit<OrderRow, 'gateway'> & MailReader;

/**
 * Makes the mails about a step: at most one to the buyer and one to the merchant. A step that is written again after
 * a restore makes the same ids, so that receivers recognise the repeat.
 *
 * @param order the order after the step
 */
export function mailsOfStep(
  deps: OrderMailDeps,
  order: MailedOrder,
  step: Step,
  circumstances: StepCircumstances,
): OrderMail[] {
  if (!sendsMails(deps, order)) return [];
  const noticed = noticedOrder(deps, order);
  const id = hashOf(`${order.orderNumber}:${step.number}:${step.kind}:${step.atMs}`);
  const toBuyer = buyerLetterOf(noticed, step, circumstances);
  const toMerchant = merchantLetterOf(noticed, step, circumstances);
  const mails: (OrderMail | undefined)[] = [
    toBuyer && prepare(deps, order, { ...toBuyer, to: order.buyerEmail, mailId: `buyer-${id}` }),
    toMerchant &&
      prepare(deps, order, {
        ...toMerchant,
        to: order.merchantEmail,
        mailId:
          toMerchant.kind === 'merchant_first_payment'
            ? `first-payment-${order.merchantId}-${order.environment}`
            : `merchant-${id}`,
      }),
  ];
  return mails.filter((mail) => mail !== undefined);
}

/** Makes the mail about the refund of a surplus payment, at most one. */
export async function mailsOfSurplus(
  { sql, orderMails: deps }: { sql: Sql; orderMails?: OrderMailDeps | undefined },
  orderNumber: string,
  refund: SurplusRefund,
): Promise<OrderMail[]> {
  const order = deps && (await findMailedOrder(sql, orderNumber));
  if (!order || !sendsMails(deps, order)) return [];
  const mail = prepare(deps, order, {
    kind: 'buyer_refund',
    letter: surplusLetter(noticedOrder(deps, order), refund),
    to: order.buyerEmail,
    mailId: `surplus-${hashOf(`${orderNumber}:${refund.gatewayPaymentId}`)}`,
  });
  return mail ? [mail] : [];
}

async function findMailedOrder(sql: Sql, orderNumber: string): Promise<MailedOrder | undefined> {
  const [order] = await sql<MailedOrder[]>`
    SELECT o.*, ${mailReader(sql)} FROM orders_with_dispute o ${joinMailReader(sql, sql`o`)}
    WHERE o.order_number = ${orderNumber}`;
  return order;
}

/** False for environments that send no mails: addresses in the sandbox may belong to strangers. */
const sendsMails = (
  { mailedEnvironments }: Pick<OrderMailDeps, 'mailedEnvironments'>,
  { environment, erasedAt }: Pick<OrderRow, 'environment' | 'erasedAt'>,
): boolean => erasedAt === null && mailedEnvironments.includes(environment);

/** A mail that was written, for its first attempt. */
export type OutgoingOrderMail = OutgoingMail & { kind: OrderMailKind };

/** The result of the SQL function `write_order_mails` for each mail that it wrote. */
export interface WrittenMail {
  mailId: string;
  createdAt: string;
}

export const mailRows = (mails: readonly OrderMail[]) =>
  mails.map(({ mailId, kind, sealed }) => ({
    mail_id: mailId,
    kind,
    sealed: sealed.toString('base64'),
  }));

/** Filters the mails that this call wrote. The others were written before. */
export function outgoingMails(
  mails: readonly OrderMail[],
  written: readonly WrittenMail[] | null,
): OutgoingOrderMail[] {
  const times = new Map(written?.map(({ mailId, createdAt }) => [mailId, new Date(createdAt)]));
  return mails.flatMap(({ mailId, kind, content }) => {
    const createdAt = times.get(mailId);
    return createdAt ? [{ ...content, mailId, kind, createdAt }] : [];
  });
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 32);

export function noticedOrder(
  { publicBaseUrl }: Pick<OrderMailDeps, 'publicBaseUrl'>,
  order: MailedOrder,
): NoticedOrder {
  const { environment, orderNumber, paymentToken } = order;
  return {
    ...order,
    buyerPage: `${publicBaseUrl}/pay/${paymentToken}`,
    merchantPage: `${publicBaseUrl}/dashboard/${environment}/orders/${orderNumber}`,
  };
}

/**
 * Checks and seals a mail about an order.
 *
 * @returns undefined if the merchant does not want it, or if it cannot be made, such as for an address that mail
 * servers refuse; that raises an alert and does not stop the order
 */
export function prepare(
  deps: Pick<OrderMailDeps, 'mailBox' | 'log' | 'sql'>,
  { orderNumber, environment, mutedMails }: MailedOrder,
  { kind, letter, to, mailId }: { kind: OrderMailKind; letter: Letter; to: string; mailId: string },
): OrderMail | undefined {
  if (mutedMails.includes(kind)) return undefined;
  const subject = onOneLine(
    environment === 'sandbox' ? `[sandbox] ${letter.subject}` : letter.subject,
  );
  try {
    return { kind, ...prepareMail(deps, { ...letter, subject, to, mailId }) };
  } catch (err) {
    if (!(err instanceof DomainError)) throw err;
    // raiseAlert never throws.
    void raiseAlert(deps, {
      kind: 'mail_failed',
      subject: orderNumber,
      message: 'A mail about an order cannot be made',
      fields: { orderNumber, mailKind: kind },
      error: err,
    });
    return undefined;
  }
}
