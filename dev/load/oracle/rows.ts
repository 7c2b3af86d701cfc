import type { Sql } from '../../../src/db/client.ts';
import type {
  PendingOperation,
  OrderStatus,
  OrderTerms,
  Settlement,
  Step,
} from '../../../src/domain/index.ts';

/** An order's row, as far as the checks compare it. */
export interface ComparedOrder {
  readonly orderNumber: string;
  readonly merchantId: string;
  readonly environment: string;
  readonly idempotencyKey: string;
  readonly paymentToken: string;
  readonly status: OrderStatus;
  readonly pendingOperation: PendingOperation | null;
  readonly stepNumber: number;
  readonly disputeCount: number;
  readonly gatewayPaymentId: string | null;
  readonly waitingDisputeId: string | null;
  readonly paymentLinkExpiresAt: Date;
  readonly completesAt: Date | null;
  readonly disputeRespondBy: Date | null;
  readonly terms: OrderTerms;
  readonly settlement: Settlement | null;
}

/** A row of `order_steps`. */
export interface ComparedStep {
  readonly orderNumber: string;
  readonly stepNumber: number;
  readonly kind: string;
  readonly status: OrderStatus;
  readonly step: Step;
  readonly commandId: string | null;
  readonly receivedAtMs: number | null;
  /** Whether an operator gave its command. */
  readonly isByOperator: boolean;
}

/** A row of `order_events`, with its delivery and its attempts. */
export interface ComparedEvent {
  readonly eventId: string;
  readonly orderNumber: string;
  readonly sequence: number;
  readonly stepNumber: number;
  readonly type: string;
  /** SHA-256 of the body, in hexadecimal. */
  readonly bodyHash: string;
  /** The event id, sequence, type and order number that the body names. */
  readonly named: string;
  readonly hasUrl: boolean;
  readonly state: string | null;
  readonly scheduled: number;
  readonly scheduledAccepted: number;
  readonly accepted: number;
}

/** All rows, by order number where an order has several. */
export interface Rows {
  readonly orders: ReadonlyMap<string, ComparedOrder>;
  readonly steps: ReadonlyMap<string, readonly ComparedStep[]>;
  readonly events: ReadonlyMap<string, readonly ComparedEvent[]>;
}

/** Reads what the checks compare; nothing may be under way. */
export async function readRows(sql: Sql): Promise<Rows> {
  const orders = await sql<ComparedOrder[]>`
    SELECT order_number, merchant_id, environment, idempotency_key, payment_token, status, pending_operation,
      step_number, dispute_count, gateway_payment_id, waiting_dispute_id, payment_link_expires_at,
      completes_at, dispute_respond_by, terms, outcome AS settlement
    FROM orders_with_dispute LEFT JOIN outside_settlements USING (order_number) ORDER BY order_number`;
  const steps = await sql<ComparedStep[]>`
    SELECT s.order_number, s.step_number, s.kind, s.status, s.step, s.command_id,
      floor(extract(epoch FROM c.received_at) * 1000)::double precision AS received_at_ms,
      coalesce(c.actor LIKE 'operator:%', false) AS is_by_operator
    FROM order_steps s LEFT JOIN order_commands c ON c.order_number = s.order_number
      AND c.command_id = s.command_id AND c.state <> 'REFUSED'
    ORDER BY s.order_number, s.step_number`;
  const events = await sql<ComparedEvent[]>`
    SELECT e.event_id, e.order_number, e.sequence, e.step_number, e.type,
      encode(sha256(convert_to(e.body, 'UTF8')), 'hex') AS body_hash,
      concat_ws(' ', e.body::jsonb->>'event_id', e.body::jsonb->>'sequence', e.body::jsonb->>'event',
        e.body::jsonb->'data'->>'order_number') AS named,
      m.webhook_url IS NOT NULL AS has_url, d.state::text AS state,
      coalesce(a.scheduled, 0)::integer AS scheduled,
      coalesce(a.scheduled_accepted, 0)::integer AS scheduled_accepted,
      coalesce(a.accepted, 0)::integer AS accepted
    FROM order_events e JOIN orders o USING (order_number)
    LEFT JOIN merchant_environments m
      ON m.merchant_id = o.merchant_id AND m.environment = o.environment
    LEFT JOIN webhook_deliveries d USING (event_id)
    LEFT JOIN (SELECT delivery_id,
        count(*) FILTER (WHERE kind = 'scheduled') AS scheduled,
        count(*) FILTER (WHERE kind = 'scheduled' AND is_delivered) AS scheduled_accepted,
        count(*) FILTER (WHERE is_delivered) AS accepted
      FROM webhook_attempts GROUP BY delivery_id) a ON a.delivery_id = d.delivery_id
    ORDER BY e.order_number, e.sequence`;
  return {
    orders: new Map(orders.map((order) => [order.orderNumber, order])),
    steps: Map.groupBy(steps, ({ orderNumber }) => orderNumber),
    events: Map.groupBy(events, ({ orderNumber }) => orderNumber),
  };
}
