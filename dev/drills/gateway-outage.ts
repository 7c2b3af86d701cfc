import { setTimeout as delay } from 'node:timers/promises';
import type { SeenAnswer as Answer } from '../load/client.ts';
import { askSimulator } from '../load/simulator.ts';
import type { Drill } from './support/cluster.ts';
import { makeOrders, startLoad } from './support/load.ts';
import { linksOf, namesOf } from './support/members.ts';
import { proveNothingLost } from './support/proof.ts';
import { firstOf, inSeconds, largest, prove, report } from './support/report.ts';
import { waitFor } from './support/wait.ts';

const LOAD_MS = 8000;
const PHASE_MS = 30_000;
const CONCURRENCY = 8;
const REFUSED_ORDERS = 3;
const CLEARED_WITHIN_MS = 60_000;
const ALERT = 'gateway_refused';

/** Refuses connections to the gateway, lets them hang, and lets the gateway refuse refunds. */
export async function run(drill: Drill): Promise<void> {
  const links = linksOf(drill, namesOf(drill, 'api', 'worker'), 'gateway-simulator');
  const load = startLoad(drill, CONCURRENCY);
  await delay(LOAD_MS);
  const downAtMs = Date.now();
  await Promise.all(links.map((link) => link.refuse()));
  report(`the gateway refuses connections, for ${inSeconds(PHASE_MS)}`);
  await delay(PHASE_MS);
  for (const link of links) {
    await link.forward();
    link.hang();
  }
  report(`connections to the gateway hang, for ${inSeconds(PHASE_MS)}`);
  await delay(PHASE_MS);
  const backAtMs = Date.now();
  for (const link of links) await link.forward();
  await delay(LOAD_MS);
  await load.finish();
  proveAnswers(
    drill.merchant.client.answers.filter(({ atMs, ms }) => atMs > downAtMs && atMs + ms < backAtMs),
  );
  await refuseRefunds(drill);
  await proveNothingLost(drill);
}

/** Buyers cannot pay; everything without the gateway works. */
function proveAnswers(during: readonly Answer[]): void {
  const needsGateway = ({ path }: Answer) => path.endsWith('/pay') || path.endsWith('/cancel');
  const payments = during.filter(needsGateway).filter(({ status }) => status >= 500);
  const others = during.filter((answer) => !needsGateway(answer));
  const failed = others.filter(({ status }) => status >= 400);
  const wrong = payments.filter(({ status }) => status !== 502);
  prove(
    'A payment is answered with 502 while the gateway is away',
    payments.length > 0 && wrong.length === 0,
    `${payments.length} answers, the slowest ${inSeconds(largest(payments.map(({ ms }) => ms)))} ${firstOf(wrong.map(({ status, message }) => `${status} ${message}`))}`.trim(),
  );
  prove(
    'Calls that need no gateway succeed meanwhile',
    others.length > 0 && failed.length === 0,
    `${others.length} answers ${firstOf(failed.map(({ path, status, message }) => `${path} ${status} ${message}`))}`.trim(),
  );
}

/** The gateway refuses refunds until an operator has found out why. */
async function refuseRefunds(drill: Drill): Promise<void> {
  const { simulator } = drill.deps;
  const { id } = await askSimulator<{ id: string }>(simulator, 'POST', '/simulator/refusals', {
    cause: 'refund_window_over',
  });
  const orders = await makeOrders(drill, REFUSED_ORDERS, ['refunded'], REFUSED_ORDERS);
  const refused = await waitFor('the refusals are alerted', CLEARED_WITHIN_MS, async () => {
    const alerted = await refusedOrders(drill);
    return orders.every(({ orderNumber }) => alerted.includes(orderNumber)) && alerted;
  });
  prove(`The alert ${ALERT} is raised for each refused refund`, true, `${refused.length} alerts`);
  await askSimulator(simulator, 'DELETE', `/simulator/refusals/${id}`);
  let retries = 0;
  await waitFor('the alerts are cleared', CLEARED_WITHIN_MS, async () => {
    const left = await refusedOrders(drill);
    for (const orderNumber of left) {
      retries += 1;
      const args = ['--order', orderNumber, '--reason', 'The cause is found'];
      // A call that is under way just now cannot be retried.
      await drill.admin('order', 'retry', ...args).catch((error: Error) => report(error.message));
    }
    return left.length === 0;
  });
  prove(
    'The alerts are cleared once the refunds are made',
    true,
    `${retries} retries by operators`,
  );
}

/** The orders whose refund the gateway has refused, also those whose refund had waited for its return. */
async function refusedOrders({ withSql }: Drill): Promise<string[]> {
  const alerts = await withSql(
    (sql) => sql<{ subject: string }[]>`
      SELECT subject FROM alerts WHERE kind = ${ALERT} AND cleared_at IS NULL`,
  );
  return alerts.map(({ subject }) => subject);
}
