import type { OrderRecord, RecordStepInput, RecordStepResult } from '../../contracts/activities.ts';
import type { KnownStep } from '../../contracts/order-workflow.ts';
import type { Sql } from '../../db/client.ts';
import { json, jsonRow } from '../../db/client.ts';
import type { StepKind } from '../../domain/index.ts';
import { answersOf, PAID_STATUSES } from '../../domain/index.ts';
import type { LeasedDelivery, StepWebhook, FirstAttempt } from './step-webhook.ts';
import { webhookOf } from './step-webhook.ts';
import type { PresentOrder } from '../presenter.ts';
import type { OrderMailDeps, OutgoingOrderMail, WrittenMail } from '../mails/step-mails.ts';
import { mailRows, mailsOfStep, outgoingMails } from '../mails/step-mails.ts';
import { joinMailReader, mailReader } from '../../merchants/public.ts';
import type { StepContext } from './step-columns.ts';
import { columnsAfter, disputeAfter, disputeInOrder, isOperator } from './step-columns.ts';

/** How steps move the order's money. No other step changes where it is. */
const MOVEMENTS: Partial<Record<StepKind, 'capture' | 'release' | 'refund'>> = {
  PAYMENT_SUCCESS: 'capture',
  ORDER_COMPLETED: 'release',
  REFUND_PROCESSED: 'refund',
};

/**
 * Returns the only function that records steps of an order after the order's creation. The SQL function `record_step`
 * writes the row, the step, the webhook event with its bytes, the delivery and the ledger line in one statement, once
 * for each step number. Only the order's workflow calls it, so the values that are read beforehand stay valid. What
 * others change (docs/who-writes-what.md), `record_step` checks as requirements on the locked row, or compares with what
 * was read (`beside_step`): if it differs, all is read and made again.
 */
export function createStepRecorder(deps: StepRecorderDeps): StepRecorder {
  return (input) => recordStep(deps, input);
}

interface StepRecorderDeps {
  sql: Sql;
  present: PresentOrder;
  orderMails?: OrderMailDeps | undefined;
  firstAttempt: FirstAttempt;
}

export type StepRecorder = (input: RecordStepInput) => Promise<StepResult>;

/** What `record_step` returns of a step that it has written, or that was written before. */
interface WrittenStep {
  outcome: 'recorded';
  recorded: KnownStep;
  /** Where the delivery that this call has leased is sent. Null or absent if it has leased none. */
  endpoint?: {
    webhookUrl: string | null;
    webhookSecretSealed: string | null;
    /** By the database's clock, as text. */
    databaseNow: string;
  } | null;
  mails: WrittenMail[] | null;
}

type NotRecorded = Exclude<RecordStepResult, { outcome: 'recorded' }>;

/** The result, with what this call has written and the caller sends: the delivery that it has leased, and mails. */
type StepResult =
  | NotRecorded
  | (Pick<WrittenStep, 'outcome' | 'recorded'> & {
      leased: LeasedDelivery | null;
      mails: OutgoingOrderMail[];
    });

async function recordStep(deps: StepRecorderDeps, given: RecordStepInput): Promise<StepResult> {
  const { sql, present, orderMails, firstAttempt } = deps;
  const before = await readContext(sql, given);
  const input = chosenStep(given, before.openSessionId);
  const { orderNumber, step, requires = [] } = input;
  const columns = columnsAfter(before, input);
  const dispute = disputeAfter(before, step);
  const after = { ...before, ...columns, ...disputeInOrder(step, dispute) };
  const circumstances = {
    before: before.status,
    isFirstPayment: before.isFirstPayment,
    isByOperator: isOperator(before.commandActor),
  };
  const mails = orderMails ? mailsOfStep(orderMails, after, step, circumstances) : [];
  const webhook = webhookOf(after, step, { present, ...firstAttempt });
  const answers = requires.includes('no_answer_waiting') ? json(sql, answersOf(before)) : null;
  const details = detailsOf(before, input);
  // Only a choice between two steps depends on the session, which the buyer may replace at any time. A key that is left
  // out is not compared (`@>`).
  const seen = given.ifNoSessionOpen ? before.seen : { ...before.seen, openSessionId: undefined };
  const askedAtMs = performance.now();
  const [row] = await sql<[{ result: WrittenStep | NotRecorded | { outcome: 'row_changed' } }]>`
    SELECT record_step(
      p_order_number => ${orderNumber},
      p_step => ${json(sql, step)},
      -- A payment by the sandbox's helper has the id of its command, so that a repeat finds the step.
      p_command_id => ${input.commandId ?? before.payCommandId},
      p_command_type => ${input.commandType ?? null},
      p_requires => ${[...requires]}::text[],
      p_answers => ${answers},
      p_columns => ${jsonRow(sql, columns)},
      p_dispute => ${dispute ? jsonRow(sql, dispute) : null},
      p_gateway => ${input.payment?.gateway ?? null},
      p_movement => ${MOVEMENTS[step.kind] ?? null},
      p_seen => ${json(sql, seen)},
      p_details => ${details && json(sql, details)},
      p_event => ${webhook ? jsonRow(sql, webhook) : null},
      p_mails => ${mails.length > 0 ? sql.json(mailRows(mails)) : null}
    ) AS result`;
  const { result } = row;
  if (result.outcome === 'row_changed') return recordStep(deps, given);
  if (result.outcome !== 'recorded') return result;
  const { endpoint, mails: written, ...recorded } = result;
  return {
    ...recorded,
    leased: webhook && endpoint ? leasedDelivery(before, webhook, endpoint, askedAtMs) : null,
    mails: outgoingMails(mails, written),
  };
}

/** The delivery for its first attempt: this process knows its event, and need not read it again. */
function leasedDelivery(
  { orderNumber, merchantId, environment }: StepContext,
  { eventId, type, body, deliveryId, attemptToken: token }: StepWebhook,
  { databaseNow, ...endpoint }: NonNullable<WrittenStep['endpoint']>,
  askedAtMs: number,
): LeasedDelivery | null {
  if (deliveryId === null || token === null) return null;
  const event = { orderNumber, merchantId, environment, eventId, deliveryId, type, body };
  return { ...event, ...endpoint, token, askedAtMs, databaseNow: new Date(databaseNow) };
}

/** Chooses the step to record, by whether a session is open; of a cancel's id see PendingOperation. */
function chosenStep(
  { ifNoSessionOpen, ...own }: RecordStepInput,
  openSessionId: string | null,
): RecordStepInput {
  if (!ifNoSessionOpen) return own;
  if (openSessionId === null) return { ...own, step: ifNoSessionOpen };
  const { step, commandId, ...others } = own;
  const { pendingOperation: closing } = step;
  if (closing?.kind !== 'closing' || commandId === undefined) return { ...others, step };
  return { ...others, step: { ...step, pendingOperation: { ...closing, commandId } } };
}

/**
 * Reads what the database has of an order: its steps after `afterStep`, its deliveries that have not ended, and a
 * waiting dispute or settlement. The first read records that the workflow has begun.
 *
 * @returns undefined when the order has no row
 */
export async function readOrder(
  sql: Sql,
  { orderNumber, afterStep }: { orderNumber: string; afterStep: number },
): Promise<(OrderRecord & { isNew: boolean }) | undefined> {
  const [row] = await sql<(OrderRecord & { isNew: boolean })[]>`
    WITH begun AS (
      DELETE FROM order_wakeups
      WHERE order_number = ${orderNumber} AND cause = 'creation' RETURNING order_number
    )
    SELECT o.step_number, EXISTS (SELECT FROM begun) AS is_new, waiting_dispute_of(o) AS dispute,
      CASE WHEN NOT is_final(o.status) THEN settlement_of(o.order_number) END AS settlement,
      (SELECT s.step FROM order_steps s WHERE s.order_number = o.order_number
        AND s.step_number = least(o.step_number, ${afterStep})) AS common,
      coalesce((SELECT jsonb_agg(known_step(o, s.step, s.command_id) ORDER BY s.step_number)
        FROM order_steps s
        WHERE s.order_number = o.order_number AND s.step_number > ${afterStep}), '[]') AS steps,
      coalesce((SELECT jsonb_agg(jsonb_build_object('deliveryId', d.delivery_id, 'kind', e.type)
          ORDER BY e.sequence)
        FROM shared.order_events e JOIN shared.webhook_deliveries d USING (event_id)
        WHERE e.order_number = o.order_number AND d.state = 'PENDING'), '[]') AS deliveries
    FROM orders o WHERE o.order_number = ${orderNumber}`;
  return row;
}

async function readContext(sql: Sql, input: RecordStepInput): Promise<StepContext> {
  const { orderNumber, step, commandId = null, payment } = input;
  const [row] = await sql<StepContext[]>`
    SELECT o.*, c.body AS command_body, c.actor AS command_actor, s.pay_command_id,
      beside_step(r, ${payment?.gateway ?? null}, ${payment?.gatewayPaymentId ?? null},
        ${MOVEMENTS[step.kind] ?? null}) AS seen,
      e.webhook_url IS NOT NULL AS has_webhook, ${mailReader(sql)},
      CASE WHEN ${step.kind === 'PAYMENT_SUCCESS'} THEN NOT EXISTS (
        SELECT FROM orders paid WHERE paid.merchant_id = o.merchant_id
          AND paid.environment = o.environment AND paid.status = ANY (${PAID_STATUSES}::order_status[])
      ) ELSE false END AS is_first_payment
    FROM orders_with_dispute o JOIN orders r USING (order_number) ${joinMailReader(sql, sql`o`)}
    LEFT JOIN order_commands c
      ON c.order_number = o.order_number AND c.command_id = ${commandId} AND c.state <> 'REFUSED'
      -- The timeline reads the texts of a settlement from its own table.
      AND c.name <> 'settle'
    LEFT JOIN shared.payments p
      ON p.gateway = ${payment?.gateway ?? null} AND p.gateway = o.gateway
      AND p.gateway_payment_id = ${payment?.gatewayPaymentId ?? null}
      AND p.order_number = o.order_number
    LEFT JOIN shared.payment_sessions s ON s.session_id = p.session_id
    LEFT JOIN shared.merchant_environments e
      ON e.merchant_id = o.merchant_id AND e.environment = o.environment
    WHERE o.order_number = ${orderNumber}`;
  if (!row) throw new Error(`Order ${orderNumber} has no row`);
  return row;
}

function detailsOf({ commandBody, seen }: StepContext, input: RecordStepInput) {
  const { step, commandId, payment } = input;
  // Those of a cancel are shown with the step that cancels, which has its id.
  const texts = commandId !== undefined && commandBody;
  const paid = payment && { gateway_payment_id: payment.gatewayPaymentId, utr: seen.paymentUtr };
  const recovered = input.isRewritten === true && { recovered: true };
  const details = { ...texts, ...step.details, ...paid, ...recovered };
  return Object.keys(details).length > 0 ? details : null;
}
