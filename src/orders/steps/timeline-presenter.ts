import { z } from 'zod';
import type { Deadline, UnappliedCapture } from '../../domain/index.ts';
import { AT_DEADLINE, PENDING_OPERATIONS, STATUSES, UNAPPLIED } from '../../domain/index.ts';
import { cursorOf } from '../../http/input/cursor.ts';
import type { OrderRow } from '../rows.ts';
import { orderStatusSchema } from '../schemas.ts';
import { isOperator } from './step-columns.ts';
import type { TimelinePart, TimelineRow } from './timeline.ts';
import { ENTRY_KINDS } from './timeline.ts';

const dateTime = z.iso.datetime();
const delivery = z.object({
  state: z.enum(['PENDING', 'DELIVERED', 'FAILED']),
  attempts: z.int(),
  next_attempt_at: dateTime.nullable(),
});

/** The past entries of an order, and its next action. */
export const timelineSchema = z
  .object({
    order_number: z.string(),
    status: orderStatusSchema,
    doing: z
      .enum(['closing', 'releasing', 'refunding'])
      .nullable()
      .meta({ description: 'What the order is doing at the gateway between two statuses' }),
    entries: z.array(
      z.object({
        kind: z.enum(ENTRY_KINDS),
        at: dateTime,
        status: orderStatusSchema,
        details: z
          .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
          .meta({ override: { additionalProperties: true } })
          .nullable()
          .meta({
            description:
              'The texts of the request and the details of the step; `made_by: "operator"` of a refund that an operator started for the merchant; `recovered: true` if they were lost when a backup was restored',
          }),
        webhook: z
          .object({
            event_id: z.string(),
            sequence: z.int(),
            delivery: delivery.nullable().meta({ description: 'null without a webhook URL' }),
          })
          .nullable(),
      }),
    ),
    earlier: z.string().nullable().meta({
      description: 'The `before` of the entries before these; null if these are the first ones',
    }),
    next: z
      .object({ at: dateTime, action: z.string() })
      .nullable()
      .meta({ description: 'The next deadline, and the action that it causes' }),
  })
  .meta({ id: 'Timeline' });
export type Timeline = z.infer<typeof timelineSchema>;

/** True if an entry is the start of a refund that an operator made for the merchant. */
export function isRefundForMerchant({ refundReason }: OrderRow, row: TimelineRow): boolean {
  const isByOperator = isOperator(row.actor);
  return row.kind === 'REFUND_STARTED' && refundReason === 'merchant_refund' && isByOperator;
}

const DEADLINE_COLUMNS = {
  payment_link: 'paymentLinkExpiresAt',
  completion: 'completesAt',
  dispute_answer: 'disputeRespondBy',
} as const satisfies Record<Deadline['kind'], keyof OrderRow>;

/** The next deadline of an order and its effect, or the pending operation at the gateway. */
function nextActionOf(
  order: OrderRow,
  unapplied: UnappliedCapture | null = null,
): { at: Date; action: string } | null {
  const { pendingOperation, status, updatedAt } = order;
  if (pendingOperation) return { at: updatedAt, action: PENDING_OPERATIONS[pendingOperation.kind] };
  const { deadline } = STATUSES[status];
  if (deadline === null) return null;
  const at = order[DEADLINE_COLUMNS[deadline]];
  const meanwhile = deadline === 'payment_link' && unapplied ? `; ${UNAPPLIED[unapplied]}` : '';
  return at && { at, action: AT_DEADLINE[deadline].client + meanwhile };
}

/** The next deadline of an order. Null while an operation is pending at the gateway. */
export const deadlineOf = (order: OrderRow): Date | null =>
  order.pendingOperation ? null : (nextActionOf(order)?.at ?? null);

/** Makes the response from the order's row and a part of its timeline. */
export function presentTimeline(
  order: OrderRow,
  { rows, earlier }: TimelinePart,
  unapplied: UnappliedCapture | null = null,
): Timeline {
  const next = nextActionOf(order, unapplied);
  return {
    order_number: order.orderNumber,
    status: order.status,
    doing: order.pendingOperation?.kind ?? null,
    entries: rows.map((row) => ({
      kind: row.kind,
      at: row.at.toISOString(),
      status: row.status,
      details: isRefundForMerchant(order, row)
        ? { ...row.details, made_by: 'operator' }
        : row.details,
      webhook: presentWebhook(row),
    })),
    earlier: earlier && cursorOf(earlier),
    next: next && { at: next.at.toISOString(), action: next.action },
  };
}

/** The same for operators: each entry also has the actor of its command. */
export function presentToOperator(
  order: OrderRow,
  part: TimelinePart,
  unapplied: UnappliedCapture | null = null,
) {
  const timeline = presentTimeline(order, part, unapplied);
  const actorOf = (index: number) => part.rows[index]?.actor ?? null;
  const entries = timeline.entries.map((entry, index) => ({ ...entry, actor: actorOf(index) }));
  return { ...timeline, entries };
}

function presentWebhook(row: TimelineRow): Timeline['entries'][number]['webhook'] {
  if (row.eventId === null || row.sequence === null) return null;
  const { state, attempts } = row;
  const next_attempt_at = row.nextAttemptAt?.toISOString() ?? null;
  return {
    event_id: row.eventId,
    sequence: row.sequence,
    delivery: state && { state, attempts, next_attempt_at },
  };
}
