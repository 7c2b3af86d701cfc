import type { Sql } from '../../db/client.ts';
import type { EventType } from '../../domain/index.ts';
import { DomainError } from '../../domain/index.ts';
import { addRequestFields } from '../../http/request-context.ts';
import { errorOf } from '../../http/responses/errors.ts';
import type { OrderOwner, WebhookEvent } from '../../orders/public.ts';
import type { Delivery } from '../lists/delivery-list.ts';
import { listDeliveries } from '../lists/delivery-list.ts';

/** How many days events can be listed. Source: the contract's "GET /events". */
const KEPT_DAYS = 90;

/** The most events to which one request assigns numbers. A merchant's first request may find many without a number. */
const MOST_NUMBERED = 10_000;

/**
 * The most events that one request reads to find those of a type. The page may be short or empty although later events
 * match; `next` continues.
 */
const MOST_READ = 10_000;

/** The last event that a client has read: its number and its id. [0, ''] is before the first event. */
export type EventPlace = readonly [number: number, eventId: string];

/** Which events to list. An absent field matches all. */
export interface EventFilter {
  type?: EventType | undefined;
  orderNumber?: string | undefined;
  /** Inclusive. */
  createdFrom?: Date | undefined;
}

export interface EventPage {
  events: WebhookEvent[];
  /** The place after this page. No later event gets a place before it. */
  next: EventPlace;
}

/**
 * Reads the events after a place, by number, whether or not they were sent. Events of erased orders are left out.
 *
 * @param after undefined begins with the first event that is kept, or with `createdFrom`
 * @throws DomainError `CURSOR_EXPIRED` if the place has another event or is too old
 */
export async function listEvents(
  sql: Sql,
  owner: OrderOwner,
  { after, size, ...filter }: EventFilter & { after?: EventPlace | undefined; size: number },
): Promise<EventPage> {
  const { merchantId, environment } = owner;
  // A separate statement, because the numbers that it writes are visible only to later statements.
  await sql`SELECT number_events(${merchantId}, ${environment}, ${MOST_NUMBERED})`;
  const start = after
    ? await assertKept(sql, owner, after, filter)
    : await findStart(sql, owner, filter);
  const rows = await readPage(sql, owner, { ...filter, ...start, size });
  const found = rows.flatMap(({ number, eventId, body }) =>
    body === null ? [] : [{ place: [number, eventId] as const, body }],
  );
  const [end] = rows;
  const last = found.length === size ? found.at(-1)?.place : undefined;
  return {
    events: found.map(({ body }) => JSON.parse(body) as WebhookEvent),
    next: last ?? (end ? [end.endNumber, end.endEventId] : (after ?? [0, ''])),
  };
}

/** The number after which a page begins, and the earliest time of its events. */
interface Start {
  afterNumber: number;
  createdFrom?: Date | undefined;
}

/** @throws DomainError `CURSOR_EXPIRED` */
async function assertKept(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  [number, eventId]: EventPlace,
  { createdFrom }: EventFilter,
): Promise<Start> {
  // [0, ''] is valid while event 1 is kept. An event can be older than its number, whose place was handed out later.
  const [row] = await sql<{ isKept: boolean; createdFrom: Date }[]>`
    SELECT (n.event_id = ${eventId} OR ${number}::bigint = 0)
      AND greatest(e.at, n.numbered_at) >= kept.from AS is_kept,
      greatest(kept.from, ${createdFrom ?? null}::timestamptz) AS created_from
    FROM event_numbers n LEFT JOIN order_events e USING (event_id),
      LATERAL (SELECT service_now() - ${KEPT_DAYS} * interval '1 day' AS from) AS kept
    WHERE n.merchant_id = ${merchantId} AND n.environment = ${environment}
      AND n.number = ${Math.max(number, 1)}`;
  const isKept = row ? row.isKept : number === 0;
  if (!isKept) throw errorOf('CURSOR_EXPIRED');
  return { afterNumber: number, createdFrom: row?.createdFrom };
}

async function findStart(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  { createdFrom }: EventFilter,
): Promise<Start> {
  const [row] = await sql<[Start]>`
    SELECT number_before(${merchantId}, ${environment}, at) AS after_number, at AS created_from
    FROM (SELECT greatest(${createdFrom ?? null}::timestamptz,
      service_now() - ${KEPT_DAYS} * interval '1 day') AS at) AS earliest`;
  return row;
}

interface PageRow {
  number: number;
  eventId: string;
  /** Null in the one row of a page without events. */
  body: string | null;
  /** The end of the range searched: the last numbered event, or {@link MOST_READ} events after the start. */
  endNumber: number;
  endEventId: string;
}

/** Returns no row if the merchant has no event after the start. */
function readPage(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  { afterNumber, type, orderNumber, createdFrom, size }: Start & EventFilter & { size: number },
): Promise<PageRow[]> {
  // The index of events by order finds all events of one order. Otherwise events are read by their numbers.
  const most = orderNumber === undefined ? MOST_READ : Number.MAX_SAFE_INTEGER;
  return sql<PageRow[]>`
    WITH final AS MATERIALIZED (
      SELECT least(last_number, ${afterNumber}::bigint + ${most}::bigint) AS number
      FROM event_counters
      WHERE merchant_id = ${merchantId} AND environment = ${environment}
        AND last_number >= ${afterNumber}
    )
    SELECT page.*, final.number AS end_number, n.event_id AS end_event_id
    FROM final
    JOIN event_numbers n ON n.merchant_id = ${merchantId} AND n.environment = ${environment}
      AND n.number = final.number
    LEFT JOIN LATERAL (
      SELECT n.number, n.event_id, e.body FROM event_numbers n JOIN order_events e USING (event_id)
      WHERE n.merchant_id = ${merchantId} AND n.environment = ${environment}
        AND n.number > ${afterNumber} AND n.number <= final.number AND e.body <> ''
        ${type === undefined ? sql`` : sql`AND e.type = ${type}`}
        ${orderNumber === undefined ? sql`` : sql`AND e.order_number = ${orderNumber}`}
        ${createdFrom === undefined ? sql`` : sql`AND e.at >= ${createdFrom}`}
      ORDER BY n.number LIMIT ${size}
    ) AS page ON true
    ORDER BY page.number`;
}

export interface EventDetails {
  event: WebhookEvent;
  /** Null if there was no webhook URL at the event and it was never sent again. */
  delivery: Delivery | null;
}

/**
 * Reads one event of a merchant, with its delivery and the newest attempts.
 *
 * @throws DomainError `NOT_FOUND`, also for an event of another merchant or environment, or of an erased order
 */
export async function findEvent(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  eventId: string,
): Promise<EventDetails> {
  const [row] = await sql<{ body: string; orderNumber: string; deliveryId: string | null }[]>`
    SELECT e.body, e.order_number, d.delivery_id
    FROM order_events e JOIN shared.orders o USING (order_number)
    LEFT JOIN webhook_deliveries d USING (event_id)
    WHERE e.event_id = ${eventId} AND e.body <> ''
      AND o.merchant_id = ${merchantId} AND o.environment = ${environment}`;
  if (!row) throw new DomainError('NOT_FOUND', `Event not found: ${eventId}`);
  const { body, orderNumber, deliveryId } = row;
  addRequestFields({ orderNumber });
  const [delivery = null] = deliveryId === null ? [] : await listDeliveries(sql, { deliveryId }, 1);
  return { event: JSON.parse(body) as WebhookEvent, delivery };
}
