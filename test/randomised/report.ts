import { openAlerts } from './alerts.ts';
import type { Plan } from './plan.ts';
import type { System } from './system.ts';

const MOST_PROBLEMS = 20;
const MOST_ORDERS = 5;

/** Orders by status, open alerts by kind, webhooks by result. */
export async function summaryOf(system: System): Promise<string> {
  const { sql } = system;
  const statuses = await sql<{ name: string; count: number }[]>`
    SELECT status::text AS name, count(*)::integer AS count FROM orders GROUP BY status ORDER BY 1`;
  const deliveries = await sql<{ name: string; count: number }[]>`
    SELECT lower(state::text) AS name, count(*)::integer AS count
    FROM webhook_deliveries GROUP BY state ORDER BY 1`;
  const { counts } = await openAlerts(system);
  const alerts = Object.entries(counts).map(([name, count]) => ({ name, count }));
  const listOf = (parts: readonly { name: string; count: number | undefined }[]) =>
    parts.map(({ name, count }) => `${count} ${name}`).join(', ') || 'none';
  return `orders ${listOf(statuses)}; alerts ${listOf(alerts)}; webhooks ${listOf(deliveries)}`;
}

/** The faults, how to reproduce them, and the actions on the first orders that they concern. */
export async function problemReport(
  system: System,
  plan: Plan,
  problems: readonly string[],
): Promise<string> {
  const orderNumbers = new Set(
    problems.flatMap((problem) => problem.match(/ORD[0-9A-Z]{26}/g) ?? []),
  );
  const timelines = [...orderNumbers]
    .slice(0, MOST_ORDERS)
    .map((number) => timelineOf(system, number));
  const disturbances = plan.turns.flatMap((turn, place) =>
    'disturbance' in turn ? `  ${place}: ${JSON.stringify(turn.disturbance)}` : [],
  );
  return [
    `Seed ${plan.seed} with ${plan.orders.length} orders leaves ${problems.length} problems.`,
    `Again: RANDOM_SEED=${plan.seed} RANDOM_ORDERS=${plan.orders.length} npx vitest run test/randomised`,
    ...problems.slice(0, MOST_PROBLEMS),
    `Of ${plan.turns.length} turns, disturbances were:`,
    ...disturbances,
    ...(await Promise.all(timelines)),
  ].join('\n');
}

async function timelineOf({ sql, temporal }: System, orderNumber: string): Promise<string> {
  const [row] = await sql`
    SELECT status, pending_operation, step_number, gateway_payment_id, waiting_dispute_id, open_session_id
    FROM orders WHERE order_number = ${orderNumber}`;
  const steps = await sql`
    SELECT step_number, kind, at, details FROM order_steps
    WHERE order_number = ${orderNumber} ORDER BY step_number`;
  const alerts = await sql`
    SELECT kind, subject, count, first_at, last_at, cleared_by FROM alerts
    WHERE subject = ${orderNumber} OR details->>'orderNumber' = ${orderNumber}`;
  const handle = temporal.workflow.getHandle(orderNumber);
  const workflow = await handle.describe().then(
    ({ status, raw }) => ({
      status: status.name,
      pending: raw.pendingActivities?.map(({ activityType, attempt, lastFailure }) => ({
        activity: activityType?.name,
        attempt,
        failure: lastFailure?.message,
      })),
    }),
    (error: unknown) => String(error),
  );
  const lines = [...steps, ...alerts].map((one) => `  ${JSON.stringify(one)}`);
  return [`${orderNumber}: ${JSON.stringify({ ...row, workflow })}`, ...lines].join('\n');
}
