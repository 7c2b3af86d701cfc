import type { Client, HistoryAndWorkflowId } from '@temporalio/client';
import type { ReplayResult } from '@temporalio/worker';
import { Runtime, Worker } from '@temporalio/worker';
import type { Config } from '../config.ts';
import { isGrpcNotFound } from '../temporal/grpc-errors.ts';
import { loadWorkflows } from './worker/workflow-bundle.ts';

const FETCH_TIMEOUT_MS = 30_000;
/** The results contain the failures; the runtime's log lines would repeat them. */
const SILENT = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** Fetches the histories of these workflows; skips workflows that Temporal does not have. */
export async function* fetchHistories(
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
export async function* replayHistories(
  histories: AsyncIterable<HistoryAndWorkflowId>,
  config: Pick<Config, 'workflowBundle'>,
): AsyncIterable<ReplayResult> {
  const telemetryOptions = { logging: { filter: 'ERROR', forward: {} } };
  Runtime.install({ logger: SILENT, telemetryOptions, shutdownSignals: [] });
  const workflowBundle = await loadWorkflows(config, SILENT);
  yield* Worker.runReplayHistories({ workflowBundle }, histories);
}
