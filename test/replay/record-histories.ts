/**
 * Runs the paths of `paths.ts` and `divergences.ts` that have no saved history on a real Temporal server, and
 * saves the histories that `replay.test.ts` replays. Run it by hand after adding a path:
 *
 *   npx vitest run --config test/replay/record.config.ts
 *
 * With RECORD_AGAIN=1 it runs all paths, and saves their histories beside the earlier ones: `completed.2.json.gz`
 * beside `completed.json.gz`. With RECORD_TRACED=1 it saves `histories-traced`, of a worker with tracing.
 * `gunzip -c test/replay/histories/completed.json.gz` shows one.
 */
import { mkdir } from 'node:fs/promises';
import { env } from 'node:process';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, beforeAll, test } from 'vitest';
import { withoutCallbacks } from '../support/gateway.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { tracedWorker } from '../support/traced-worker.ts';
import { until } from '../support/until.ts';
import { DIVERGENCES } from './divergences.ts';
import { savedIn, saveHistory, TRACED, UNTRACED } from './histories.ts';
import type { PathContext } from './paths.ts';
import { pathOf, PATHS, STILL_RUNNING, TRACED_PATHS } from './paths.ts';

const IS_TRACED = env['RECORD_TRACED'] === '1';
const IS_REPEATED = env['RECORD_AGAIN'] === '1';
const FOLDER = IS_TRACED ? TRACED : UNTRACED;
await mkdir(FOLDER, { recursive: true });
const saved = (await savedIn(FOLDER)).map(pathOf);
let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let context: PathContext;

const startWorker = async () => {
  const traced = IS_TRACED ? await tracedWorker() : {};
  worker = await service.startWorker({}, { stickyQueueScheduleToStartTimeout: 200, ...traced });
};

async function countDueDeliveries(): Promise<number> {
  const due = await service.sql`
    SELECT FROM webhook_deliveries
    WHERE state = 'PENDING' AND next_attempt_at < service_now() + interval '1 minute'`;
  return due.length;
}

beforeAll(async () => {
  service = await startTestService({ time: 'real' });
  await withoutCallbacks(service);
  await startWorker();
  const { merchantId } = await service.newMerchant();
  const deaf = await service.newMerchant();
  deaf.receiver.answerWith(() => 500);
  context = {
    service,
    merchantId,
    deafMerchantId: deaf.merchantId,
    async whileNoWorkerRuns(action) {
      // An interrupted attempt is retried after a minute.
      await until(async () => (await countDueDeliveries()) === 0);
      await worker.stop();
      const result = await action();
      await startWorker();
      return result;
    },
  };
});
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

/** Fields that identify the recording machine and that the workflow does not use. */
const OF_THE_MACHINE: Record<string, string> = { identity: 'recorder', stackTrace: '' };

/** One event per line, without the names and folders of the recording machine. */
function textOf(history: History): string {
  const { events } = JSON.parse(historyToJSON(history)) as { events: object[] };
  const lines = events.map((event) =>
    JSON.stringify(event, (key, value: unknown) => OF_THE_MACHINE[key] ?? value),
  );
  return `{"events":[\n${lines.join(',\n')}\n]}\n`;
}

const countSaved = (name: string) => saved.filter((one) => one === name).length;

const paths = Object.entries({ ...PATHS, ...DIVERGENCES }).filter(
  ([name]) =>
    (!IS_TRACED || TRACED_PATHS.includes(name)) && (IS_REPEATED || countSaved(name) === 0),
);

test.each(paths)('%s', async (name, walk) => {
  const { handle } = await walk(context);
  if (!STILL_RUNNING.includes(name)) await handle.result();
  const count = countSaved(name);
  const numbered = count === 0 ? name : `${name}.${count + 1}`;
  await saveHistory(FOLDER, numbered, textOf(await handle.fetchHistory()));
});
