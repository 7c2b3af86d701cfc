import { reportText, type Report } from '../../dev/load/oracle/report.ts';
import type { Plan } from './plan.ts';
import type { System } from './system.ts';

const MOST_ORDERS = 5;

/** The faults, how to reproduce them, and the actions on the first orders that they concern. */
export async function violationReport(system: System, plan: Plan, report: Report): Promise<string> {
  const { violations } = report;
  const orderNumbers = new Set(
    violations.flatMap(
      ({ subject, fault }) => `${subject} ${fault}`.match(/ORD[0-9A-Z]{26}/g) ?? [],
    ),
  );
  const timelines = [...orderNumbers]
    .slice(0, MOST_ORDERS)
    .map((number) => timelineOf(system, number));
  const disturbances = plan.turns.flatMap((turn, place) =>
    'disturbance' in turn ? `  ${place}: ${JSON.stringify(turn.disturbance)}` : [],
  );
  return [
    `Seed ${plan.seed} with ${plan.orders.length} orders leaves ${violations.length} violations.`,
    `Again: RANDOM_SEED=${plan.seed} RANDOM_ORDERS=${plan.orders.length} npx vitest run test/randomised`,
    reportText(report),
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
    SELECT kind, subject, count, first_at, last_at, cleared_by, cleared_reason FROM alerts
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
