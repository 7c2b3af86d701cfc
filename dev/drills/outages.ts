import { setTimeout as delay } from 'node:timers/promises';
import { kill, linksOf, namesOf } from '../faults/run.ts';
import type { SeenAnswer as Answer } from '../load/client.ts';
import { askSimulator } from '../load/simulator.ts';
import { CONCURRENCY, LOAD_MS, type Drill } from './support/load.ts';
import { proveBackSoon } from './support/proof.ts';
import { firstOf, inSeconds, prove, report, waitFor } from './support/report.ts';

const OUTAGE_MS = 60_000;
/** The contract's limit; and a moment in which the answer reaches this process on a busy machine. */
const ANSWERED_WITHIN_MS = 5000;
const TRANSFER_MS = 250;
/** On a machine without a free processor the balancer sometimes closes connections of an API that is late. */
const MOST_CLOSED_SHARE = 0.02;

/** The answers to requests that began and ended between two times. */
const answersBetween = ({ merchant }: Drill, fromMs: number, toMs: number) =>
  merchant.client.answers.filter(({ atMs, ms }) => atMs > fromMs && atMs + ms < toMs);

/** The longest of some answers, in milliseconds. */
const slowestOf = (answers: readonly Answer[]) => Math.max(0, ...answers.map(({ ms }) => ms));

const textOf = ({ path, status, message }: Answer) => `${path} ${status} ${message}`;

/** Ends Temporal for a minute under load. */
export async function temporalOutage(drill: Drill): Promise<void> {
  await kill(drill, 'temporal');
  const downAtMs = Date.now();
  report(`Temporal killed, for ${inSeconds(OUTAGE_MS)}`);
  await delay(OUTAGE_MS);
  const startedAtMs = Date.now();
  await drill.cluster.member('temporal').start();
  const backAtMs = Date.now();
  report(`Temporal is back after ${inSeconds(backAtMs - startedAtMs)}`);
  proveAnswersWithoutTemporal(answersBetween(drill, downAtMs, startedAtMs));
  await proveBackSoon(drill, backAtMs);
}

function proveAnswersWithoutTemporal(all: readonly Answer[]): void {
  const during = all.filter(({ status }) => status !== 0);
  const closed = all.length - during.length;
  prove(
    'The balancer closes few connections',
    closed <= all.length * MOST_CLOSED_SHARE,
    `${closed} of ${all.length}`,
  );
  const reads = during.filter(({ method }) => method === 'GET');
  const commands = during.filter(({ method }) => method === 'POST');
  const failedReads = reads.filter(({ status }) => status !== 200);
  prove(
    'Orders can be read during the outage',
    reads.length > 0 && failedReads.length === 0,
    `${reads.length} reads, the slowest ${Math.round(slowestOf(reads))} ms ${firstOf(failedReads.map(textOf))}`,
  );
  const failed = commands.filter(({ status }) => status === 500);
  // The steps of calls that were under way when Temporal ended may have been recorded: a repeat finds them.
  const repeated = commands.filter(({ status }) => status === 200).length;
  prove(
    `A command is answered with 500 within ${inSeconds(ANSWERED_WITHIN_MS)}, unless its step was recorded before`,
    failed.length > 0 &&
      failed.length + repeated === commands.length &&
      repeated <= CONCURRENCY &&
      slowestOf(commands) <= ANSWERED_WITHIN_MS + TRANSFER_MS,
    `${failed.length} answers 500, ${repeated} answers 200, the slowest ${inSeconds(slowestOf(commands))}`,
  );
}

const PHASE_MS = 30_000;
const LEAST_REFUSED = 3;
const ALERTED_WITHIN_MS = 60_000;
const CLEARED_WITHIN_MS = 60_000;
const ALERT = 'gateway_refused';

/** Refuses connections to the gateway, lets them hang, and lets the gateway refuse refunds. */
export async function gatewayOutage(drill: Drill): Promise<void> {
  const links = linksOf(drill, namesOf(drill, 'api', 'worker'), 'gateway-simulator');
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
  proveAnswersWithoutGateway(answersBetween(drill, downAtMs, backAtMs));
  await refuseRefunds(drill);
}

/** Buyers cannot pay; everything without the gateway works. */
function proveAnswersWithoutGateway(during: readonly Answer[]): void {
  const needsGateway = ({ path }: Answer) => path.endsWith('/pay') || path.endsWith('/cancel');
  const payments = during.filter(needsGateway).filter(({ status }) => status >= 500);
  const others = during.filter((answer) => !needsGateway(answer));
  const failed = others.filter(({ status }) => status >= 400);
  const wrong = payments.filter(({ status }) => status !== 502);
  prove(
    'A payment is answered with 502 while the gateway is away',
    payments.length > 0 && wrong.length === 0,
    `${payments.length} answers, the slowest ${inSeconds(slowestOf(payments))} ${firstOf(wrong.map(textOf))}`,
  );
  prove(
    'Calls that need no gateway succeed meanwhile',
    others.length > 0 && failed.length === 0,
    `${others.length} answers ${firstOf(failed.map(textOf))}`,
  );
}

/** The gateway refuses refunds until an operator has found out why. */
async function refuseRefunds(drill: Drill): Promise<void> {
  const { simulator } = drill.deps;
  await askSimulator(simulator, 'PATCH', '/simulator/switches/all', { refundsRefused: true });
  const refused = await waitFor('the refusals are alerted', ALERTED_WITHIN_MS, async () => {
    const alerted = await refusedOrders(drill);
    return alerted.length >= LEAST_REFUSED && alerted;
  });
  prove(`The alert ${ALERT} is raised for refused refunds`, true, `${refused.length} alerts`);
  await drill.finishLoad();
  await askSimulator(simulator, 'PATCH', '/simulator/switches/all', { refundsRefused: null });
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
  const claim = 'The alerts are cleared once the refunds are made';
  prove(claim, true, `${retries} retries by operators`);
}

/** The orders whose refund the gateway has refused, also those whose refund had waited for its return. */
async function refusedOrders({ withSql }: Drill): Promise<string[]> {
  const alerts = await withSql(
    (sql) => sql<{ subject: string }[]>`
      SELECT subject FROM alerts WHERE kind = ${ALERT} AND cleared_at IS NULL`,
  );
  return alerts.map(({ subject }) => subject);
}
