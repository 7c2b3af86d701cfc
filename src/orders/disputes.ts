import type { Sql } from '../db/client.ts';
import type {
  PendingOperation,
  DisputeStatus,
  Environment,
  OrderStatus,
  RefundReason,
  StepKind,
} from '../domain/index.ts';
import { DISPUTE_STATUSES } from '../domain/index.ts';

/** A dispute that has not ended: it waits for the merchant, an operator or the refund. */
export interface RunningDispute {
  orderNumber: string;
  merchantId: string;
  environment: Environment;
  status: DisputeStatus;
  amountPaise: number;
  disputeCount: number;
  raisedAt: Date;
  /** The deadline: if the dispute is unresolved then, the buyer is refunded. */
  respondBy: Date;
  /** The refund has started: there is no decision left to make. */
  isRefunding: boolean;
}

/** Which disputes to list; an absent field matches all. */
export interface DisputeFilter {
  status?: DisputeStatus | undefined;
  merchantId?: string | undefined;
  environment?: Environment | undefined;
  /** The order number of the last dispute of the page before. */
  after?: string | undefined;
}

/**
 * Lists disputes that have not ended, the nearest deadline first.
 *
 * @returns at most `limit` disputes, and whether there are more
 */
export async function listRunningDisputes(
  sql: Sql,
  { status, merchantId, environment, after }: DisputeFilter,
  limit: number,
): Promise<{ disputes: RunningDispute[]; hasMore: boolean }> {
  // Literals, not parameters: the planner uses the partial index only if it sees the statuses.
  const rows = await sql<RunningDispute[]>`
    SELECT order_number, merchant_id, environment, status, amount_paise, dispute_count,
      dispute_raised_at AS raised_at, dispute_respond_by AS respond_by, pending_operation IS NOT NULL AS is_refunding
    FROM orders
    WHERE status IN (${sql.unsafe(DISPUTE_STATUSES.map((name) => `'${name}'`).join(', '))})
      ${status ? sql`AND status = ${status}` : sql``}
      ${merchantId ? sql`AND merchant_id = ${merchantId}` : sql``}
      ${environment ? sql`AND environment = ${environment}` : sql``}
      ${
        after
          ? sql`AND (dispute_respond_by, order_number) > ((SELECT dispute_respond_by FROM orders
        WHERE order_number = ${after}), ${after})`
          : sql``
      }
    ORDER BY dispute_respond_by, order_number LIMIT ${limit + 1}`;
  return { disputes: rows.slice(0, limit), hasMore: rows.length > limit };
}

/** How a dispute ended. */
export type DisputeEnding =
  | 'resolved_by_merchant'
  | 'decided_for_merchant'
  | 'decided_for_buyer'
  | 'accepted_by_merchant'
  | 'not_resolved_in_time'
  /** An operator recorded a settlement outside the gateway. */
  | 'settled_by_operator';

/** One dispute of an order, with the texts of buyer, merchant and operator. */
export interface DisputeRecord {
  /** Counts from 1 on each order. */
  number: number;
  raisedAt: Date;
  /** `buyer`, or the operator who raised it for the buyer. */
  raisedBy: string;
  /** The buyer's text. */
  reason: string;
  evidenceAt: Date | null;
  /** The merchant's text. */
  evidence: string | null;
  /** Null until the dispute has ended; a refund ends it when the gateway has refunded. */
  endedAt: Date | null;
  ending: DisputeEnding | null;
  /** The merchant's text when the merchant resolved it. */
  resolution: string | null;
  decision: { for: 'merchant' | 'buyer'; reason: string; actor: string | null } | null;
}

interface DisputeStep {
  orderNumber: string;
  kind: StepKind;
  at: Date;
  status: OrderStatus;
  details: Record<string, string> | null;
  pendingOperation: PendingOperation | null;
  actor: string | null;
}

/** Reads every dispute of an order from its steps, the oldest first. */
export async function readDisputes(sql: Sql, orderNumber: string): Promise<DisputeRecord[]> {
  const disputes = await readDisputesOf(sql, [orderNumber]);
  return disputes.get(orderNumber) ?? [];
}

/** The same of several orders, by order number. */
export async function readDisputesOf(
  sql: Sql,
  orderNumbers: readonly string[],
): Promise<Map<string, DisputeRecord[]>> {
  const steps = await sql<DisputeStep[]>`
    SELECT s.order_number, s.kind, s.at, s.status, s.details, s.step->'pendingOperation' AS pending_operation, a.actor
    FROM order_steps s
    LEFT JOIN audit_log a ON a.subject = s.order_number
      AND a.action IN ('dispute.raise', 'dispute.decide')
      AND a.details->>'commandId' = s.command_id
    WHERE s.order_number = ANY(${[...orderNumbers]}) AND s.kind IN
      ('DISPUTE_RAISED', 'EVIDENCE_SUBMITTED', 'DISPUTE_RESOLVED', 'REFUND_STARTED',
        'REFUND_PROCESSED', 'ORDER_COMPLETED')
    ORDER BY s.order_number, s.step_number`;
  const disputes = new Map<string, DisputeRecord[]>();
  for (const step of steps) {
    disputes.set(step.orderNumber, withStep(disputes.get(step.orderNumber) ?? [], step));
  }
  return disputes;
}

/** Applies one step: DISPUTE_RAISED begins a dispute, any other step changes the latest one. */
function withStep(disputes: DisputeRecord[], step: DisputeStep): DisputeRecord[] {
  if (step.kind === 'DISPUTE_RAISED') return [...disputes, raised(disputes.length + 1, step)];
  const latest = disputes.at(-1);
  if (!latest) return disputes;
  return [...disputes.slice(0, -1), { ...latest, ...changesOf(latest, step) }];
}

function raised(number: number, { at, details, actor }: DisputeStep): DisputeRecord {
  return {
    number,
    raisedAt: at,
    raisedBy: actor ?? 'buyer',
    reason: details?.['reason'] ?? '',
    evidenceAt: null,
    evidence: null,
    endedAt: null,
    ending: null,
    resolution: null,
    decision: null,
  };
}

function changesOf(latest: DisputeRecord, step: DisputeStep): Partial<DisputeRecord> {
  const { kind, at, details } = step;
  switch (kind) {
    case 'EVIDENCE_SUBMITTED':
      return { evidenceAt: at, evidence: details?.['text'] ?? '' };
    case 'DISPUTE_RESOLVED': {
      const decision = decisionOf(step);
      if (decision) return { endedAt: at, ending: 'decided_for_merchant', decision };
      const resolution = details?.['resolution'] ?? null;
      return { endedAt: at, ending: 'resolved_by_merchant', resolution };
    }
    case 'REFUND_STARTED': {
      const ending = endingOf(step.pendingOperation);
      return ending ? { ending, decision: decisionOf(step) } : {};
    }
    case 'REFUND_PROCESSED':
    case 'ORDER_COMPLETED':
      // The dispute ended earlier: this step is a later refund or the release.
      if (latest.endedAt !== null) return {};
      return { endedAt: at, ending: latest.ending ?? 'settled_by_operator' };
    default:
      return {};
  }
}

const ENDING_OF_REFUND: Partial<Record<RefundReason, DisputeEnding>> = {
  dispute_accepted: 'accepted_by_merchant',
  dispute_decided_for_buyer: 'decided_for_buyer',
  dispute_not_resolved_in_time: 'not_resolved_in_time',
};

/** A refund for another reason than a dispute ends no dispute. */
function endingOf(pendingOperation: PendingOperation | null): DisputeEnding | undefined {
  return pendingOperation?.kind === 'refunding'
    ? ENDING_OF_REFUND[pendingOperation.reason]
    : undefined;
}

function decisionOf({ details, actor }: DisputeStep): DisputeRecord['decision'] {
  const winner = details?.['for'];
  if (winner !== 'merchant' && winner !== 'buyer') return null;
  return { for: winner, reason: details?.['reason'] ?? '', actor };
}
