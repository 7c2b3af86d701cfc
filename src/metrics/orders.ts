import type { Logger } from 'pino';
import { isFinal } from '../domain/lifecycle.ts';
import type { Environment, OrderStatus, PendingOperation } from '../domain/order.ts';
import { ENVIRONMENTS, ORDER_STATUSES, STATUSES } from '../domain/order.ts';
import type { Sample } from './reading.ts';
import { addGauge, createReading } from './reading.ts';
import type { MetricFamily } from './registry.ts';

/** What the database says about all orders. */
export interface OrderFigures {
  counts: { environment: Environment; status: OrderStatus; count: number }[];
  oldest: { status: OrderStatus; ageSeconds: number }[];
  operations: { operation: PendingOperation['kind']; ageSeconds: number }[];
  overdue: { status: OrderStatus; overdueSeconds: number }[];
}

/** Many scrapes of many processes read the same figures, which change slowly. */
const KEEP_FOR_MS = 30_000;

const ZEROS = ENVIRONMENTS.flatMap((environment) =>
  ORDER_STATUSES.map((status): Sample => [{ environment, status }, 0]),
);
const OPEN_STATUSES = ORDER_STATUSES.filter((status) => !isFinal(status));
const STATUSES_WITH_DEADLINE = ORDER_STATUSES.filter(
  (status) => STATUSES[status].deadline !== null,
);
const OPERATIONS: readonly PendingOperation['kind'][] = ['closing', 'releasing', 'refunding'];

/** The orders of the whole service by environment and status, the oldest ones and the overdue ones. */
export function orderMetrics(
  readFigures: () => Promise<OrderFigures>,
  { log, keepForMs = KEEP_FOR_MS }: { log: Logger; keepForMs?: number },
): MetricFamily {
  const read = createReading(readFigures, { what: 'the orders', log, keepForMs });
  return (registry) => {
    const orders = {
      name: 'orders',
      help: 'Orders of the whole service: each of its processes reports the same number.',
      labelNames: ['environment', 'status'],
    };
    addGauge(registry, orders, read, ({ counts }) => [
      ...ZEROS,
      ...counts.map(({ count, ...labels }): Sample => [labels, count]),
    ]);
    const oldest = {
      name: 'orders_oldest_age_seconds',
      help: 'The time since the creation of the oldest order in each status that is not final.',
      labelNames: ['status'],
    };
    addGauge(registry, oldest, read, (figures) => [
      ...OPEN_STATUSES.map((status): Sample => [{ status }, 0]),
      ...figures.oldest.map(({ status, ageSeconds }): Sample => [{ status }, ageSeconds]),
    ]);
    const operations = {
      name: 'order_operations_oldest_age_seconds',
      help: 'How long the longest closing, release or refund of an order has been pending.',
      labelNames: ['operation'],
    };
    addGauge(registry, operations, read, (figures) => [
      ...OPERATIONS.map((operation): Sample => [{ operation }, 0]),
      ...figures.operations.map(({ operation, ageSeconds }): Sample => [{ operation }, ageSeconds]),
    ]);
    const overdue = {
      name: 'orders_overdue_seconds',
      help: 'For how long the deadline of an order has passed without anything having begun.',
      labelNames: ['status'],
    };
    addGauge(registry, overdue, read, (figures) => [
      ...STATUSES_WITH_DEADLINE.map((status): Sample => [{ status }, 0]),
      ...figures.overdue.map(({ status, overdueSeconds }): Sample => [{ status }, overdueSeconds]),
    ]);
    return () => {};
  };
}
