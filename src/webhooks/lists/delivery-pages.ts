import { encodeTime } from 'ulid';
import type { Sql } from '../../db/client.ts';
import type { Environment, EventType } from '../../domain/index.ts';
import { EVENT_TYPES } from '../../domain/index.ts';
import type { DeliveryState } from '../schedule/attempt-log.ts';
import { DELIVERY_STATES } from '../schedule/attempt-log.ts';

/** The deliveries on one page. */
export const DELIVERIES_PER_PAGE = 25;

/** A merchant in one environment, whose deliveries are listed. */
export interface DeliveryOwner {
  merchantId: string;
  environment: Environment;
}

/** Which of a merchant's deliveries to list; an absent field matches all. */
export interface DeliveryPageFilter {
  state?: DeliveryState | undefined;
  event?: EventType | undefined;
  orderNumber?: string | undefined;
  /** Events at or after this time. */
  since?: Date | undefined;
  /** Events before this time. */
  until?: Date | undefined;
  /** Only deliveries that are older than this one: the next page. */
  before?: string | undefined;
}

/** One line of the list. */
export interface ListedDelivery {
  deliveryId: string;
  orderNumber: string;
  event: EventType;
  state: DeliveryState;
  createdAt: Date;
  nextAttemptAt: Date | null;
  attemptCount: number;
  /** Of the last attempt; null without one. */
  lastAttemptAt: Date | null;
  lastStatusCode: number | null;
  lastError: string | null;
}

/** A page of a merchant's deliveries. */
export interface DeliveryPage {
  deliveries: ListedDelivery[];
  /** The `before` of the next page; null when this is the last one. */
  older: string | null;
}

/**
 * A page of a merchant's deliveries, newest first. A delivery's id is a ULID of its event's time, so it
 * is the key of the pages, and times select by it.
 */
export async function pageDeliveries(
  sql: Sql,
  owner: DeliveryOwner,
  filter: DeliveryPageFilter,
): Promise<DeliveryPage> {
  const rows = await sql<ListedDelivery[]>`
    WITH page AS MATERIALIZED (
      ${filter.orderNumber === undefined ? newestOf(sql, owner, filter) : newestOfOrder(sql, owner, filter)}
      ORDER BY delivery_id DESC LIMIT ${DELIVERIES_PER_PAGE + 1}
    )
    SELECT d.delivery_id, e.order_number, d.event_type AS event, d.state, d.created_at,
      d.next_attempt_at, counted.attempt_count, last.at AS last_attempt_at,
      last.status_code AS last_status_code, last.error AS last_error
    FROM page JOIN webhook_deliveries d USING (delivery_id) JOIN order_events e USING (event_id)
    LEFT JOIN LATERAL (
      SELECT count(*)::integer AS attempt_count FROM webhook_attempts a
      WHERE a.delivery_id = d.delivery_id
    ) counted ON true
    LEFT JOIN LATERAL (
      SELECT at, status_code, error FROM webhook_attempts a
      WHERE a.delivery_id = d.delivery_id ORDER BY attempt_id DESC LIMIT 1
    ) last ON true
    ORDER BY d.delivery_id DESC`;
  const deliveries = rows.slice(0, DELIVERIES_PER_PAGE);
  const hasOlder = rows.length > DELIVERIES_PER_PAGE;
  return { deliveries, older: hasOlder ? (deliveries.at(-1)?.deliveryId ?? null) : null };
}

/** Reads a page of each type and state by the index, however many deliveries have another one. */
function newestOf(
  sql: Sql,
  { merchantId, environment }: DeliveryOwner,
  filter: DeliveryPageFilter,
) {
  const types = filter.event ? [filter.event] : [...EVENT_TYPES];
  const states = filter.state ? [filter.state] : [...DELIVERY_STATES];
  return sql`
    SELECT newest.delivery_id
    FROM unnest(${types}::text[]) AS every_type (event_type),
      unnest(${states}::delivery_state[]) AS every_state (state),
    LATERAL (
      SELECT d.delivery_id FROM webhook_deliveries d
      WHERE d.merchant_id = ${merchantId} AND d.environment = ${environment}
        AND d.event_type = every_type.event_type AND d.state = every_state.state
        ${withinTimes(sql, filter)}
      ORDER BY d.delivery_id DESC LIMIT ${DELIVERIES_PER_PAGE + 1}
    ) AS newest`;
}

function newestOfOrder(
  sql: Sql,
  { merchantId, environment }: DeliveryOwner,
  filter: DeliveryPageFilter,
) {
  const { orderNumber = '', event, state } = filter;
  return sql`
    SELECT d.delivery_id FROM order_events e JOIN webhook_deliveries d USING (event_id)
    WHERE e.order_number = ${orderNumber}
      AND d.merchant_id = ${merchantId} AND d.environment = ${environment}
      ${event ? sql`AND d.event_type = ${event}` : sql``}
      ${state ? sql`AND d.state = ${state}` : sql``}
      ${withinTimes(sql, filter)}`;
}

function withinTimes(sql: Sql, { since, until, before }: DeliveryPageFilter) {
  return sql`
    ${since ? sql`AND d.delivery_id >= ${firstIdAt(since)}` : sql``}
    ${until ? sql`AND d.delivery_id < ${firstIdAt(until)}` : sql``}
    ${before ? sql`AND d.delivery_id < ${before}` : sql``}`;
}

/** Sorts before every delivery id of this time. */
function firstIdAt(time: Date): string {
  return `dlv_${encodeTime(time.getTime())}`;
}
