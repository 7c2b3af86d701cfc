import { encodeTime } from 'ulid';
import type { Sql } from '../../db/client.ts';
import type { ListPage, ListPart } from '../../db/list-part.ts';
import { pageOf, rowsToRead } from '../../db/list-part.ts';
import type { EventType } from '../../domain/index.ts';
import { EVENT_TYPES } from '../../domain/index.ts';
import type { OrderOwner } from '../../orders/public.ts';
import type { DeliveryState } from '../schedule/attempt-log.ts';
import { DELIVERY_STATES } from '../schedule/attempt-log.ts';
import type { Delivery } from './delivery-list.ts';

/** Which of a merchant's deliveries to list. An absent field matches all. */
export interface DeliveryPageFilter {
  state?: DeliveryState | undefined;
  event?: EventType | undefined;
  orderNumber?: string | undefined;
  /** Only events at or after this time. */
  since?: Date | undefined;
  /** Only events before this time. */
  until?: Date | undefined;
}

export interface ListedDelivery extends Omit<Delivery, keyof OrderOwner | 'eventId' | 'attempts'> {
  merchantOrderId: string | null;
  attemptCount: number;
  lastStatusCode: number | null;
  lastError: string | null;
}

/**
 * Lists a merchant's deliveries page by page, newest first. A delivery's id is a ULID with the time of its event, so
 * pages begin at an id, and times are compared with ids.
 *
 * @param part.after the id of the last delivery of the previous part
 */
export async function pageDeliveries(
  sql: Sql,
  owner: OrderOwner,
  filter: DeliveryPageFilter,
  part: ListPart,
): Promise<ListPage<ListedDelivery>> {
  const newest = filter.orderNumber === undefined ? newestOf : newestOfOrder;
  const found = await sql<{ deliveryId: string }[]>`
    ${newest(sql, owner, filter, part)} ORDER BY delivery_id DESC LIMIT ${rowsToRead(part)}`;
  const page = pageOf(found, part);
  return { ...page, rows: await readListed(sql, page.rows) };
}

async function readListed(
  sql: Sql,
  found: readonly { deliveryId: string }[],
): Promise<ListedDelivery[]> {
  const ids = found.map(({ deliveryId }) => deliveryId);
  return sql<ListedDelivery[]>`
    SELECT d.delivery_id, e.order_number, o.merchant_order_id, d.event_type AS event, d.state, d.created_at,
      d.next_attempt_at, counted.attempt_count, last.status_code AS last_status_code, last.error AS last_error
    FROM unnest(${ids}::text[]) AS page (delivery_id)
      JOIN webhook_deliveries d USING (delivery_id) JOIN order_events e USING (event_id)
      LEFT JOIN shared.orders o USING (order_number)
    LEFT JOIN LATERAL (
      SELECT count(*)::integer AS attempt_count FROM webhook_attempts a
      WHERE a.delivery_id = d.delivery_id
    ) counted ON true
    LEFT JOIN LATERAL (
      SELECT status_code, error FROM webhook_attempts a
      WHERE a.delivery_id = d.delivery_id ORDER BY attempt_id DESC LIMIT 1
    ) last ON true
    ORDER BY d.delivery_id DESC`;
}

/** Reads a page of each type and state by the index, however many deliveries have another one. */
function newestOf(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  filter: DeliveryPageFilter,
  part: ListPart,
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
        ${withinTimes(sql, filter, part)}
      ORDER BY d.delivery_id DESC LIMIT ${rowsToRead(part)}
    ) AS newest`;
}

function newestOfOrder(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  filter: DeliveryPageFilter,
  part: ListPart,
) {
  const { orderNumber = '', event, state } = filter;
  return sql`
    SELECT d.delivery_id FROM order_events e JOIN webhook_deliveries d USING (event_id)
    WHERE e.order_number = ${orderNumber}
      AND d.merchant_id = ${merchantId} AND d.environment = ${environment}
      ${event ? sql`AND d.event_type = ${event}` : sql``}
      ${state ? sql`AND d.state = ${state}` : sql``}
      ${withinTimes(sql, filter, part)}`;
}

function withinTimes(sql: Sql, { since, until }: DeliveryPageFilter, { after }: ListPart) {
  return sql`
    ${since ? sql`AND d.delivery_id >= ${firstIdAt(since)}` : sql``}
    ${until ? sql`AND d.delivery_id < ${firstIdAt(until)}` : sql``}
    ${after ? sql`AND d.delivery_id < ${after}` : sql``}`;
}

/** Sorts before every delivery id of this time. */
function firstIdAt(time: Date): string {
  return `dlv_${encodeTime(time.getTime())}`;
}
