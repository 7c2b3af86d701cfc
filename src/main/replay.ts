import type { Client, HistoryAndWorkflowId } from '@temporalio/client';
import type { ReplayResult } from '@temporalio/worker';
import { Runtime, Worker } from '@temporalio/worker';
import { isGrpcNotFound } from '../temporal/grpc-errors.ts';
import { bundleWorkflows } from './workflow-bundle.ts';

const FETCH_TIMEOUT_MS = 30_000;
/** What fails is in the results: the runtime has nothing to add. */
const SILENT = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** The histories of these workflows; those that Temporal has not, not yet or no longer, are left out. */
export async function* fetchHistories(
  client: Client,
  workflowIds: readonly string[],
): AsyncIterable<HistoryAndWorkflowId> {
  for (const workflowId of workflowIds) {
    try {
      const fetchIt = () => client.workflow.getHandle(workflowId).fetchHistory();
      yield {
        workflowId,
        history: await client.withDeadline(Date.now() + FETCH_TIMEOUT_MS, fetchIt),
      };
    } catch (error) {
      if (!isGrpcNotFound(error)) throw error;
    }
  }
}

/** Goes through histories with this checkout's workflows, without a server. */
export async function* replayHistories(
  histories: AsyncIterable<HistoryAndWorkflowId>,
): AsyncIterable<ReplayResult> {
  const telemetryOptions = { logging: { filter: 'ERROR', forward: {} } };
  Runtime.install({ logger: SILENT, telemetryOptions, shutdownSignals: [] });
  const workflowBundle = await bundleWorkflows(SILENT);
  yield* Worker.runReplayHistories({ workflowBundle }, histories);
}
