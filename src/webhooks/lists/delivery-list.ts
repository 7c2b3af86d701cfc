import type { Sql } from '../../db/client.ts';
import type { Environment, EventType } from '../../domain/index.ts';
import { DomainError } from '../../domain/index.ts';
import type { AttemptKind, DeliveryState } from '../schedule/attempt-log.ts';

/** Which deliveries to list. An absent field matches all. */
export interface DeliveryFilter {
  deliveryId?: string | undefined;
  merchantId?: string | undefined;
  environment?: Environment | undefined;
  orderNumber?: string | undefined;
  state?: DeliveryState | undefined;
}

export interface DeliveryAttempt {
  at: Date;
  url: string;
  /** Null without an answer. */
  statusCode: number | null;
  durationMs: number;
  /** Null exactly when the endpoint accepted the event. */
  error: string | null;
  kind: AttemptKind;
}

/** More than the five of the schedule, because an event can be sent again by hand. */
const MOST_ATTEMPTS = 100;

/** A delivery with its newest attempts, oldest first. */
export interface Delivery {
  deliveryId: string;
  eventId: string;
  orderNumber: string;
  event: EventType;
  merchantId: string;
  environment: Environment;
  state: DeliveryState;
  nextAttemptAt: Date | null;
  createdAt: Date;
  attempts: DeliveryAttempt[];
}

export interface DeliveryDetails extends Omit<Delivery, 'attempts'> {
  /** `answer`: the first 16 KiB of the response body as UTF-8. Null without a response. */
  attempts: (DeliveryAttempt & { answer: string | null })[];
}

/** Lists deliveries, newest first: ids are ULIDs, which sort by time. */
export async function listDeliveries(
  sql: Sql,
  filter: DeliveryFilter,
  limit: number,
): Promise<Delivery[]> {
  const { deliveryId, merchantId, environment, orderNumber, state } = filter;
  const rows = await sql<Delivery[]>`
    SELECT d.delivery_id, d.event_id, e.order_number, e.type AS event, d.merchant_id,
      d.environment, d.state, d.next_attempt_at, d.created_at,
      coalesce(a.attempts, '[]') AS attempts
    FROM webhook_deliveries d
    JOIN order_events e USING (event_id)
    LEFT JOIN LATERAL (
      SELECT json_agg(json_build_object(
        'at', at, 'url', url, 'statusCode', status_code, 'durationMs', duration_ms,
        'error', error, 'kind', kind) ORDER BY attempt_id) AS attempts
      FROM (SELECT * FROM webhook_attempts WHERE delivery_id = d.delivery_id
        ORDER BY attempt_id DESC LIMIT ${MOST_ATTEMPTS}) AS newest
    ) a ON true
    WHERE true
      ${deliveryId ? sql`AND d.delivery_id = ${deliveryId}` : sql``}
      ${merchantId ? sql`AND d.merchant_id = ${merchantId}` : sql``}
      ${environment ? sql`AND d.environment = ${environment}` : sql``}
      ${orderNumber ? sql`AND e.order_number = ${orderNumber}` : sql``}
      ${state ? sql`AND d.state = ${state}` : sql``}
    ORDER BY d.delivery_id DESC LIMIT ${limit}`;
  return rows.map((row) => ({
    ...row,
    // The JSON of the attempts has their times as texts.
    attempts: row.attempts.map((attempt) => ({ ...attempt, at: new Date(attempt.at) })),
  }));
}

/** Reads one delivery, with the responses. @throws DomainError `NOT_FOUND` */
export async function showDelivery(sql: Sql, deliveryId: string): Promise<DeliveryDetails> {
  const [delivery] = await listDeliveries(sql, { deliveryId }, 1);
  if (!delivery) throw deliveryNotFound(deliveryId);
  const newest = await sql<(DeliveryAttempt & { answer: Buffer | null })[]>`
    SELECT at, url, status_code, duration_ms, error, kind, response_body AS answer
    FROM webhook_attempts WHERE delivery_id = ${deliveryId}
    ORDER BY attempt_id DESC LIMIT ${MOST_ATTEMPTS}`;
  const attempts = newest.toReversed().map(({ answer, ...attempt }) => ({
    ...attempt,
    answer: answer?.toString() ?? null,
  }));
  return { ...delivery, attempts };
}

export function deliveryErased(deliveryId: string): DomainError {
  const message = `The event of ${deliveryId} cannot be sent again: the buyer's data was erased`;
  return new DomainError('INVALID_STATE', message);
}

export function deliveryNotFound(deliveryId: string): DomainError {
  return new DomainError('NOT_FOUND', `Delivery not found: ${deliveryId}`);
}
