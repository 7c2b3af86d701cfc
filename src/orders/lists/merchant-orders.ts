import { createHash } from 'node:crypto';
import type { Actor } from '../../db/actor.ts';
import type { Sql } from '../../db/client.ts';
import type { ListPart } from '../../db/list-part.ts';
import type { UnappliedCapture } from '../../domain/index.ts';
import { DomainError } from '../../domain/index.ts';
import { addRequestFields } from '../../http/request-context.ts';
import { writeLook } from '../../merchants/public.ts';
import { countOrdersByDay, readDueReleases, readOrderAttention } from './merchant-figures.ts';
import type { DisputeRecord } from '../steps/disputes.ts';
import { readDisputes } from '../steps/disputes.ts';
import type { DisputeList } from './list-disputes.ts';
import { listDisputes } from './list-disputes.ts';
import { ordersCsv } from './orders-csv.ts';
import { findOrder } from '../find-order.ts';
import type { OrderRow } from '../rows.ts';
import type { OrderSort } from './page-orders.ts';
import { pageOrders } from './page-orders.ts';
import type { MerchantSearch, OrderOwner } from './search-orders.ts';
import type { TimelinePart, TimelinePlace, TimelineRow } from '../steps/timeline.ts';
import { findUnappliedState, readTimeline } from '../steps/timeline.ts';

export interface OrderDetails {
  order: OrderRow;
  timeline: TimelinePart;
  /** Every dispute, the oldest first. */
  disputes: DisputeRecord[];
  /** A capture that the order has not applied. */
  unapplied: UnappliedCapture | null;
  version: string;
  /** The database's clock, which decides deadlines. */
  now: Date;
}

export type MerchantOrders = ReturnType<typeof createMerchantOrders>;

/** What a merchant may read of its own orders in one environment. */
export function createMerchantOrders(sql: Sql) {
  return {
    page: (owner: OrderOwner, search: MerchantSearch, part: ListPart, sort: OrderSort) =>
      pageOrders(sql, owner, search, part, sort),
    csv: (owner: OrderOwner, search: MerchantSearch, actor: Actor) =>
      exportOrders(sql, owner, search, actor),
    find: (owner: OrderOwner, orderNumber: string) => findOwnOrder(sql, owner, orderNumber),
    /** @param before only entries before this place in the timeline */
    read: (owner: OrderOwner, orderNumber: string, before?: TimelinePlace) =>
      readOrder(sql, owner, orderNumber, before),
    listDisputes: (owner: OrderOwner, list: DisputeList, part: ListPart) =>
      listDisputes(sql, owner, list, part),
    readAttention: (owner: OrderOwner) => readOrderAttention(sql, owner),
    countByDay: (owner: OrderOwner, days: readonly string[]) => countOrdersByDay(sql, owner, days),
    readDueReleases: (owner: OrderOwner) => readDueReleases(sql, owner),
  };
}

/** Writes an audit row that says who saves the file, then returns the file. The row does not have the search text. */
async function exportOrders(
  sql: Sql,
  owner: OrderOwner,
  search: MerchantSearch,
  actor: Actor,
): Promise<AsyncGenerator<string>> {
  const { merchantId, environment } = owner;
  const filters = Object.entries(search).flatMap(([name, value]) =>
    value === undefined ? [] : [name],
  );
  const details = { environment, filters };
  await writeLook(sql, { actor, action: 'orders.export', merchantId, details });
  return ordersCsv(sql, owner, search);
}

async function findOwnOrder(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  orderNumber: string,
): Promise<OrderRow> {
  const order = await findOrder(sql, environment, orderNumber);
  // Another merchant's order is treated like an unknown one, so that the answer does not tell that it exists.
  if (order?.merchantId !== merchantId) {
    throw new DomainError('ORDER_NOT_FOUND', `Order not found: ${orderNumber}`);
  }
  addRequestFields({ orderNumber });
  return order;
}

const MOST_ENTRIES = 50;

/** @throws DomainError `ORDER_NOT_FOUND`, also for another merchant's order */
async function readOrder(
  sql: Sql,
  owner: OrderOwner,
  orderNumber: string,
  before: TimelinePlace | undefined,
): Promise<OrderDetails> {
  const order = await findOwnOrder(sql, owner, orderNumber);
  const [timeline, disputes, [clock], unapplied] = await Promise.all([
    readTimeline(sql, orderNumber, { before, most: MOST_ENTRIES }),
    readDisputes(sql, orderNumber),
    sql<[{ now: Date }]>`SELECT service_now() AS now`,
    findUnappliedState(sql, orderNumber),
  ]);
  const version = versionOf(order, timeline.rows, unapplied);
  return { order, timeline, disputes, unapplied, version, now: clock.now };
}

function versionOf(
  order: OrderRow,
  timeline: readonly TimelineRow[],
  unapplied: UnappliedCapture | null,
): string {
  const { stepNumber, pendingOperation, waitingDisputeId, refundProcessedAt, paymentUtr } = order;
  const webhooks = timeline.map(({ kind, state, attempts }) => [kind, state, attempts]);
  const shown = [
    stepNumber,
    pendingOperation,
    waitingDisputeId,
    refundProcessedAt,
    paymentUtr,
    unapplied,
    webhooks,
  ];
  return createHash('sha256').update(JSON.stringify(shown)).digest('hex').slice(0, 16);
}
