import { join } from 'node:path';
import { dataDirIn, namesOf, stopMembers, type Run } from '../faults/run.ts';
import type { LoadOrder } from '../load/order.ts';
import { createCanaries, marksOf, type Canaries } from './canary.ts';
import { startOtlpReceiver } from './otlp-receiver.ts';
import { filesBelow, tablesOf, type Place } from './places.ts';
import { reportText, searchPlaces } from './report.ts';
import { createRefusedRow, lookAt, refusedRequests, sendCallbacks, signUp } from './visitors.ts';

type Log = (line: string) => void;

/** See {@link startCanaryRun}. */
export type CanaryRun = Awaited<ReturnType<typeof startCanaryRun>>;

/** Canaries of a run, and a collector that keeps its traces. */
export async function startCanaryRun() {
  const canaries = createCanaries();
  const { word } = canaries;
  const collector = await startOtlpReceiver();
  return {
    marks: marksOf(canaries),
    settings: { LOG_LEVEL: 'trace', OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint },
    /** What follows in the webhook URL of a merchant. */
    webhookPath: () => `/${word('path of a webhook URL')}?token=${word('query of a webhook URL')}`,
    /** What visitors do when an order was created, whatever happens to the service. */
    async visitDuring(run: Run, order: LoadOrder) {
      await lookAt({ canaries, run }, order);
      await refusedRequests({ canaries, run });
    },
    async visitAfterwards(run: Run) {
      await signUp({ canaries, run });
      await createRefusedRow({ canaries, run });
    },
    /** Ends the service, and searches it. @returns the reasons why the run fails */
    async search(run: Run, log: Log): Promise<string[]> {
      const { cluster, merchants, deps, folder } = run;
      // Last, because there is an alert of one that is not understood.
      await sendCallbacks({ canaries, run });
      for (const { keys, webhookSecret } of merchants) {
        canaries.add('API secret', keys.apiSecret);
        canaries.add('webhook secret', webhookSecret);
      }
      for (const { orderNumbers } of deps.memory.orders) {
        for (const orderNumber of orderNumbers) canaries.add(CONTROL, orderNumber);
      }
      const read = Object.entries(cluster.metricsUrls).map(async ([name, url]) => {
        return { name, text: await (await fetch(url)).text() };
      });
      const metrics = await Promise.all(read);
      // They export their last spans.
      await stopMembers(run, namesOf(run, 'api', 'worker'));
      const tables = (database: string) => tablesOf(cluster.adminDatabaseUrl, database);
      const places: Record<string, readonly Place[]> = {
        metrics,
        logs: filesBelow(join(dataDirIn(folder), 'logs')),
        traces: [{ name: 'traces', text: collector.text() }],
        "Temporal's database": await tables('temporal'),
        "Temporal's list of workflows": await tables('temporal_visibility'),
        [OWN]: await tables(new URL(cluster.databaseUrl).pathname.slice(1)),
      };
      return Object.entries(places).flatMap(([kind, of]) => failuresIn(kind, of, canaries, log));
    },
    [Symbol.asyncDispose]: () => collector.stop(),
  };
}

/** What the search must find, or it would prove nothing: it is where operators need it. */
const CONTROL = 'order number';
/** Where most canaries belong. */
const OWN = "the service's database";
const LEAST_STORED = 50;

function failuresIn(kind: string, places: readonly Place[], canaries: Canaries, log: Log) {
  const { found, ...size } = searchPlaces(kind, places, canaries);
  const others = found.filter(({ what }) => what !== CONTROL);
  const text = reportText({ ...size, found: others });
  log(text);
  const failures: string[] = [];
  if (kind === OWN ? others.length < LEAST_STORED : others.length > 0) failures.push(text);
  if (kind !== 'metrics' && others.length === found.length) failures.push(`no ${CONTROL}: ${text}`);
  return failures;
}
