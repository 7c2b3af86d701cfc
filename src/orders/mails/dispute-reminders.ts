import type { Sql } from '../../db/client.ts';
import { joinMailReader, mailReader } from '../../merchants/public.ts';
import { disputeDeadlineLetter } from './merchant-letters.ts';
import type { MailedOrder, OrderMailDeps, OutgoingOrderMail, WrittenMail } from './step-mails.ts';
import { mailRows, noticedOrder, outgoingMails, prepare } from './step-mails.ts';

/** How long before the deadline of a dispute its merchant is reminded. */
const REMINDED_BEFORE = '24 hours';

interface DueDispute extends MailedOrder {
  mailId: string;
  respondBy: Date;
}

/**
 * Writes a mail to the merchant of each dispute whose deadline is within 24 hours: one while it waits for the
 * merchant's answer, and one while it is under review. Disputes that began within these 24 hours are left out,
 * because their first mail is new.
 *
 * @returns the mails that this call has written, to be sent
 */
export async function remindOfDisputes(
  { sql, orderMails }: { sql: Sql; orderMails: OrderMailDeps },
  limit: number,
): Promise<OutgoingOrderMail[]> {
  const reminders: OutgoingOrderMail[] = [];
  for (const { respondBy, mailId, ...order } of await findDue(sql, orderMails, limit)) {
    const letter = disputeDeadlineLetter(noticedOrder(orderMails, order), respondBy);
    const kind = 'merchant_dispute_deadline';
    const mail = prepare(orderMails, order, { kind, letter, to: order.merchantEmail, mailId });
    if (!mail) continue;
    const [row] = await sql<{ written: WrittenMail[] }[]>`
      SELECT write_order_mails(${order.orderNumber}, ${sql.json(mailRows([mail]))}) AS written`;
    reminders.push(...outgoingMails([mail], row?.written ?? null));
  }
  return reminders;
}

/** Uses the index of running disputes by deadline. */
function findDue(sql: Sql, { mailedEnvironments }: OrderMailDeps, limit: number) {
  return sql<DueDispute[]>`
    SELECT o.*, ${mailReader(sql)}, due.respond_by, due.mail_id
    FROM (
      SELECT d.*, 'dispute-' || d.order_number || '-' || d.number
        || CASE WHEN d.evidence_at IS NULL THEN '-open' ELSE '-review' END AS mail_id
      FROM disputes d
    ) AS due
    JOIN orders_with_dispute o ON o.order_number = due.order_number ${joinMailReader(sql, sql`o`)}
    WHERE due.ended_at IS NULL AND due.environment = ANY (${[...mailedEnvironments]}::environment[])
      AND due.respond_by > (SELECT service_now())
      AND due.respond_by <= (SELECT service_now()) + ${REMINDED_BEFORE}::interval
      AND coalesce(due.evidence_at, due.raised_at) <= due.respond_by - ${REMINDED_BEFORE}::interval
      AND o.pending_operation IS NULL
      AND NOT EXISTS (SELECT FROM shared.mails WHERE mails.mail_id = due.mail_id)
    ORDER BY due.respond_by LIMIT ${limit}`;
}
