import type { Client, HistoryAndWorkflowId } from '@temporalio/client';
import type { ReplayResult } from '@temporalio/worker';
import { Runtime, Worker } from '@temporalio/worker';
import type { Config } from '../config.ts';
import { isGrpcNotFound } from '../temporal/client.ts';
import { loadWorkflows } from './worker/workflow-bundle.ts';

const FETCH_TIMEOUT_MS = 30_000;
/** The results contain the failures; the runtime's log lines would repeat them. */
const SILENT = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** Fetches the histories of these workflows; skips workflows that Temporal does not have. */
async function* fetchHistories(
  client: Client,
  workflowIds: readonly string[],
): AsyncIterable<HistoryAndWorkflowId> {
  for (const workflowId of workflowIds) {
    try {
      const fetchHistory = () => client.workflow.getHandle(workflowId).fetchHistory();
      yield {
        workflowId,
        history: await client.withDeadline(Date.now() + FETCH_TIMEOUT_MS, fetchHistory),
      };
    } catch (error) {
      if (!isGrpcNotFound(error)) throw error;
    }
  }
}

/** Replays histories with this checkout's workflow code, without a server. */
async function* replayHistories(
  histories: AsyncIterable<HistoryAndWorkflowId>,
  config: Pick<Config, 'workflowBundle'>,
): AsyncIterable<ReplayResult> {
  const telemetryOptions = { logging: { filter: 'ERROR', forward: {} } };
  Runtime.install({ logger: SILENT, telemetryOptions, shutdownSignals: [] });
  const workflowBundle = await loadWorkflows(config, SILENT);
  yield* Worker.runReplayHistories({ workflowBundle }, histories);
}

/** An order that this checkout's workflow code cannot continue. */
interface ReplayFailure {
  orderNumber: string;
  /** Whether its workflow still runs: a closed one needs nothing. */
  isRunning: boolean;
  /** The first line of the error. */
  error: string;
}

/** Replays the histories of these orders. @returns the orders that have one, and those that have failed */
export async function replayOrders(
  client: Client,
  orderNumbers: readonly string[],
  config: Pick<Config, 'workflowBundle'>,
): Promise<{ replayed: string[]; failures: ReplayFailure[] }> {
  const replayed: string[] = [];
  const failures: ReplayFailure[] = [];
  const results = replayHistories(fetchHistories(client, orderNumbers), config);
  for await (const { workflowId: orderNumber, error } of results) {
    replayed.push(orderNumber);
    if (error === undefined) continue;
    const { status } = await client.workflow.getHandle(orderNumber).describe();
    const isRunning = status.name === 'RUNNING';
    failures.push({ orderNumber, isRunning, error: error.message.split('\n')[0] ?? '' });
  }
  return { replayed, failures };
}
