import type { Sql } from '../../../src/db/client.ts';
import { checkEverything, type CheckedService } from '../../chaos/check-everything.ts';
import { untilNothingIsUnderWay } from '../../chaos/under-way.ts';
import type { Drill } from './cluster.ts';
import { repeatLost, type LoadOrder } from './load.ts';
import { firstOf, prove, report } from './report.ts';
import { waitFor } from './wait.ts';

/** The hourly proof and the 30 s between two comparisons are shorter than a drill may wait. */
const ENDED_WITHIN_MS = 90_000;
const MOST_LISTED = 5;

/**
 * Proves that the service has all that it acknowledged, once, and completes it.
 *
 * @param options.mayLackClosedWorkflows see {@link CheckedService}
 */
export async function proveNothingLost(
  drill: Drill,
  orders: readonly LoadOrder[],
  options: Pick<CheckedService, 'mayLackClosedWorkflows'> = {},
): Promise<void> {
  const refused = orders.flatMap(({ orderNumber, refusal }) =>
    refusal === undefined ? [] : [`${orderNumber ?? 'an order'}: ${refusal}`],
  );
  prove('No call of a merchant was refused', refused.length === 0, firstOf(refused));
  await proveSteps(drill, orders);
  await proveOnce(drill, orders);
  await proveEnded(drill, orders);
  await proveMoney(drill);
  await proveEverythingFits(drill, orders, options);
}

/** Proves what `npm run chaos` proves of everything that the merchant was answered. */
async function proveEverythingFits(
  drill: Drill,
  orders: readonly LoadOrder[],
  options: Pick<CheckedService, 'mayLackClosedWorkflows'>,
): Promise<void> {
  const { cluster, merchantId } = drill;
  const { temporalAddress, gatewayUrl, facts } = cluster;
  const migrationDatabaseUrl = drill.ownerUrl();
  const service = { migrationDatabaseUrl, temporalAddress, gatewayUrl, facts, ...options };
  const underWay = await untilNothingIsUnderWay(service, ENDED_WITHIN_MS, report);
  const { counts, violations } = await checkEverything(service, {
    orders: orders.map(({ idempotencyKey, orderNumber, acknowledged, ends }) => ({
      merchantId,
      idempotencyKey,
      orderNumbers: new Set(orderNumber === undefined ? [] : [orderNumber]),
      commands: acknowledged
        .filter(({ operation }) => operation !== 'create')
        .map((command) => ({ ...command, result: 'carried out' as const })),
      finalStatus: ends,
      mostCaptures: 1,
    })),
    received: drill.receiver.received,
    surprises: [],
  });
  const compared = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  const found = violations.map(({ subject, fault }) => `${subject} ${fault}`);
  prove(
    'Nothing is under way, lost, duplicated or illegal',
    Object.keys(underWay).length === 0 && violations.length === 0,
    [...compared, ...Object.entries(underWay).map(String), ...found.slice(0, MOST_LISTED)].join(
      ', ',
    ),
  );
}

/** Proves that each acknowledged step is recorded. */
export async function proveSteps(drill: Drill, orders: readonly LoadOrder[]): Promise<void> {
  const lost = await drill.withSql((sql) => lostSteps(sql, orders));
  const total = orders.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
  const known = orders.filter(({ orderNumber }) => orderNumber !== undefined).length;
  prove(
    'Every acknowledged step is recorded',
    lost.length === 0,
    `${known} orders, ${total} steps, ${lost.length} lost ${firstOf(lost)}`.trim(),
  );
}

async function stepKinds(sql: Sql): Promise<Map<string, string[]>> {
  const rows = await sql<{ orderNumber: string; kinds: string[] }[]>`
    SELECT order_number, array_agg(kind) AS kinds FROM order_steps GROUP BY order_number`;
  return new Map(rows.map(({ orderNumber, kinds }) => [orderNumber, kinds]));
}

/** The acknowledged steps that the database does not have. */
export async function lostSteps(
  sql: Sql,
  orders: readonly Pick<LoadOrder, 'orderNumber' | 'acknowledged'>[],
): Promise<string[]> {
  const kindsOf = await stepKinds(sql);
  return orders.flatMap(({ orderNumber, acknowledged }) => {
    const kinds = kindsOf.get(orderNumber ?? '') ?? [];
    return acknowledged
      .filter(({ step }) => !kinds.includes(step))
      .map(({ step }) => `${orderNumber} ${step}`);
  });
}

/** Merchants repeat what was lost, and report it. */
export async function repeatLostCalls(
  { api, withSql }: Drill,
  orders: readonly LoadOrder[],
): Promise<void> {
  const kindsOf = await withSql(stepKinds);
  const { created, calls } = await repeatLost(api, orders, ({ orderNumber }) =>
    kindsOf.get(orderNumber ?? ''),
  );
  report(
    `merchants created ${created} lost orders again, with their keys, and made ${calls} calls`,
  );
}

/** Proves that each creation, however often it was sent, made one order. */
async function proveOnce(
  { withSql, merchantId }: Drill,
  orders: readonly LoadOrder[],
): Promise<void> {
  const made = await withSql(async (sql) => {
    const [row] = await sql<{ count: number }[]>`
      SELECT count(*)::integer AS count FROM orders WHERE merchant_id = ${merchantId}`;
    return row?.count;
  });
  prove(
    'Every creation made one order',
    made === orders.length,
    `${orders.length} keys, ${made} orders`,
  );
}

interface OrderEnd {
  orderNumber: string;
  status: string;
  operation: string | null;
}

/** Waits until every order is where its calls lead, and every event has arrived. */
export async function proveEnded(drill: Drill, orders: readonly LoadOrder[]): Promise<void> {
  const byNumber = new Map(orders.map((order) => [order.orderNumber, order]));
  let notEnded: string[] = [];
  const ended = waitFor('ended', ENDED_WITHIN_MS, () =>
    drill.withSql(async (sql) => {
      notEnded = await ordersNotEnded(sql, drill.merchantId, byNumber);
      return notEnded.length === 0;
    }),
  );
  await ended.catch(() => undefined);
  prove('Every order got to its end', notEnded.length === 0, firstOf(notEnded));
  let missing: string[] = [];
  let total = 0;
  const arrived = waitFor('arrived', ENDED_WITHIN_MS, async () => {
    const ids = drill.receiver.received;
    const events = await drill.withSql((sql) => eventsOf(sql, drill.merchantId));
    total = events.length;
    missing = events.filter((eventId) => !ids.has(eventId));
    return missing.length === 0;
  });
  await arrived.catch(() => undefined);
  prove('Every event arrived', missing.length === 0, `${total} events ${firstOf(missing)}`.trim());
}

async function ordersNotEnded(
  sql: Sql,
  merchantId: string,
  byNumber: ReadonlyMap<string | undefined, LoadOrder>,
): Promise<string[]> {
  const rows = await sql<OrderEnd[]>`
    SELECT order_number, status, pending_operation->>'kind' AS operation FROM orders
    WHERE merchant_id = ${merchantId}`;
  return rows.flatMap(({ orderNumber, status, operation }) => {
    const order = byNumber.get(orderNumber);
    if (order === undefined || (operation === null && status === order.ends)) return [];
    const where = [orderNumber, status, operation, 'instead of', order.ends, order.refusal];
    return [where.filter(Boolean).join(' ')];
  });
}

async function eventsOf(sql: Sql, merchantId: string): Promise<string[]> {
  const rows = await sql<{ eventId: string }[]>`
    SELECT event_id FROM order_events JOIN orders USING (order_number)
    WHERE merchant_id = ${merchantId}`;
  return rows.map(({ eventId }) => eventId);
}

/** Proves that the ledger adds up, that the gateway agrees, and that every open order has a workflow. */
export async function proveMoney(drill: Drill): Promise<void> {
  let printed = '';
  const agrees = await waitFor('the ledger is proved', ENDED_WITHIN_MS, async () => {
    printed = await drill.admin('ledger', 'verify', '--gateway', '--json');
    return true;
  }).catch((error: Error) => {
    printed = error.cause instanceof Error ? error.cause.message : error.message;
    return false;
  });
  prove(
    'The ledger sums to zero, and the gateway agrees',
    agrees,
    agrees ? figuresOf(printed) : printed,
  );
  const surplus = await drill.withSql(
    async (sql) => (await sql`SELECT FROM surplus_refunds`).length,
  );
  prove('No order was paid twice', surplus === 0, `${surplus} surplus captures`);
}

function figuresOf(printed: string): string {
  const { lineCount, sums, gateway, workflows } = JSON.parse(printed) as {
    lineCount: number;
    sums: { environment: string; sumPaise: number }[];
    gateway: { comparedCount: number };
    workflows: { openOrderCount: number };
  };
  const sum = sums.reduce((paise, { sumPaise }) => paise + Math.abs(sumPaise), 0);
  return `${lineCount} lines, sum ${sum}; ${gateway.comparedCount} payments compared; ${workflows.openOrderCount} open orders with a workflow`;
}

/** The open alerts: how many of each kind, with the message of one. */
export function openAlerts({ withSql }: Drill): Promise<Record<string, string>> {
  return withSql(async (sql) => {
    const rows = await sql<{ kind: string; count: number; example: string }[]>`
      SELECT kind, count(*)::integer AS count,
        min(concat_ws(' ', subject, details->>'message', details->>'error')) AS example
      FROM alerts WHERE cleared_at IS NULL GROUP BY kind`;
    return Object.fromEntries(
      rows.map(({ kind, count, example }) => [kind, `${count}, such as ${example}`]),
    );
  });
}
