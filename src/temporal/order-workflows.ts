import type { Client, WorkflowStartOptions } from '@temporalio/client';
import { defineSearchAttributeKey, type TypedSearchAttributes } from '@temporalio/common';
import proto from '@temporalio/proto';
import {
  ApplicationFailure,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import {
  ORDER_WORKFLOW,
  REFUND_SURPLUS_WORKFLOW,
  refundWorkflowId,
  TASK_QUEUE,
  WAKE_SIGNAL,
} from '../contracts/ids.ts';
import type { PaymentRef } from '../contracts/ids.ts';
import type {
  OrderInput,
  OrderMessageName,
  OrderMessages,
  OrderResult,
} from '../contracts/order-workflow.ts';
import type { OrderStatus } from '../domain/index.ts';
import { DomainError, ERROR_CODES, ORDER_STATUSES, rupeesFromPaise } from '../domain/index.ts';
import { createLimiter } from '../limiter.ts';
import { CALL_TIMEOUT_MS, isGrpcNotFound, secondsOf } from './client.ts';

/** Longer, because a list may have thousands of entries and no API client waits for it. */
const LIST_TIMEOUT_MS = 20_000;

/**
 * Limits the concurrent Updates of one order in this process. The server accepts ten. It refuses one more, and drops
 * the current workflow task (docs/adr/0001).
 */
const MAX_CONCURRENT_UPDATES = 4;

const DETAILS_FOR_OPERATORS = `One payment order. It waits for the buyer's payment, the merchant's delivery
and 24 hours without a dispute, then releases the funds. **Current details** say what it waits for now.

No Signal or Update from here moves the order: what a person asks for needs a name and a reason. Use the
order's page in the operators' dashboard, or \`admin dispute decide\` and \`admin order settle\`.`;

export interface OrderWorkflows {
  /**
   * Starts the workflow of an order unless it runs. Call it only for an order whose row is not final or that has
   * pending webhooks.
   */
  start(input: OrderInput): Promise<void>;
  find(orderNumber: string): Promise<FoundWorkflow>;
  /** When the latest event of an order's workflow was recorded. Undefined without a workflow. */
  lastChangedAt(orderNumber: string): Promise<Date | undefined>;
  /** Lists the running workflows with `after` < order number <= `upTo`, each with its order's status. */
  listRunning(after: string, upTo: string): Promise<Map<string, OrderStatus | undefined>>;
  /** Lists the order numbers of the workflows that have ended since then. */
  listEnded(since: Date): AsyncIterable<string>;
  /**
   * Sends an Update and waits until its step is recorded.
   *
   * @param updateId a repeated Update with the same id returns the first one's result
   * @returns `gone` when no such workflow runs; the order's row then decides
   * @throws DomainError when the workflow refuses
   */
  update<Name extends OrderMessageName>(
    orderNumber: string,
    name: Name,
    message: OrderMessages[Name] & { commandId: string },
    updateId?: string,
  ): Promise<'done' | 'gone'>;
  /** Sends a Signal. Temporal keeps it while no worker runs. */
  signal<Name extends OrderMessageName>(
    orderNumber: string,
    name: Name,
    message: OrderMessages[Name],
  ): Promise<'sent' | 'gone'>;
  wake(orderNumber: string): Promise<'sent' | 'gone'>;
  /**
   * Starts the workflow that refunds a surplus payment, or a payment whose refund has failed. If it runs already, it
   * checks the payment once more, unless the call only starts it. Idempotent.
   */
  startSurplusRefund(payment: PaymentRef, options?: { onlyStarts: boolean }): Promise<void>;
}

export type FoundWorkflow =
  /** With its search attributes. `hasBegun` is false until its first task has started. */
  | { state: 'running'; status: OrderStatus | undefined; disputeCount: number; hasBegun: boolean }
  /** `result` is undefined when the workflow was terminated or has failed. */
  | { state: 'closed'; result: OrderResult | undefined }
  | { state: 'missing' };

/** @param timeoutMs the deadline of each call except `listRunning` and `listEnded` */
export function createOrderWorkflows(client: Client, timeoutMs = CALL_TIMEOUT_MS): OrderWorkflows {
  const withinTimeout = <T>(call: () => Promise<T>): Promise<T> =>
    client.withDeadline(Date.now() + timeoutMs, call);
  const updates = createLimiter({ ofOne: MAX_CONCURRENT_UPDATES });
  return {
    start: (input) => withinTimeout(() => startOrder(client, input)),
    find: (orderNumber) => withinTimeout(() => find(client, orderNumber)),
    lastChangedAt: (orderNumber) => withinTimeout(() => lastChangedAt(client, orderNumber)),
    listRunning: (after, upTo) =>
      client.withDeadline(Date.now() + LIST_TIMEOUT_MS, () => listRunning(client, after, upTo)),
    listEnded: (since) => listEnded(client, since),
    update: (orderNumber, name, message, updateId = message.commandId) =>
      withinTimeout(() =>
        updates.run(orderNumber, () =>
          update(client, orderNumber, { name, updateId, args: [message] }),
        ),
      ),
    signal: (orderNumber, name, message) =>
      withinTimeout(() => signal(client, orderNumber, name, [message])),
    wake: (orderNumber) => withinTimeout(() => signal(client, orderNumber, WAKE_SIGNAL, [])),
    startSurplusRefund: ({ gateway, gatewayPaymentId }, { onlyStarts } = { onlyStarts: false }) =>
      withinTimeout(async () => {
        const options: WorkflowStartOptions = {
          workflowId: refundWorkflowId({ gateway, gatewayPaymentId }),
          taskQueue: TASK_QUEUE,
          args: [{ gateway, gatewayPaymentId }],
          workflowIdConflictPolicy: 'USE_EXISTING',
        };
        const signalled = { ...options, signal: WAKE_SIGNAL };
        await (onlyStarts
          ? client.workflow.start(REFUND_SURPLUS_WORKFLOW, options)
          : client.workflow.signalWithStart(REFUND_SURPLUS_WORKFLOW, signalled));
      }),
  };
}

async function update(
  client: Client,
  orderNumber: string,
  { name, ...options }: { name: string; updateId: string; args: [unknown] },
): Promise<'done' | 'gone'> {
  const handle = client.workflow.getHandle(orderNumber);
  for (;;) {
    try {
      await handle.executeUpdate<void, [unknown]>(name, options);
      return 'done';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'gone';
      const failure = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
      if (!(failure instanceof ApplicationFailure)) throw error;
      // The server dropped a workflow task with several Updates. This one was not processed.
      if (failure.type === 'UnprocessedUpdate') continue;
      const code = ERROR_CODES.find((known) => known === failure.type);
      throw code ? new DomainError(code, failure.message, { cause: error }) : error;
    }
  }
}

async function signal(
  client: Client,
  orderNumber: string,
  name: string,
  args: unknown[],
): Promise<'sent' | 'gone'> {
  try {
    await client.workflow.getHandle(orderNumber).signal(name, ...args);
    return 'sent';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'gone';
    throw error;
  }
}

async function startOrder(client: Client, input: OrderInput): Promise<void> {
  const { status = 'ACCEPTED', disputeCount = 0 } = input.earlier?.state ?? {};
  await client.workflow.start(ORDER_WORKFLOW, {
    workflowId: input.orderNumber,
    taskQueue: TASK_QUEUE,
    args: [input],
    // Of concurrent starts one starts it.
    workflowIdConflictPolicy: 'USE_EXISTING',
    // A run first reads the order's row, so a new run of a final order ends immediately.
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    staticSummary: `INR ${rupeesFromPaise(input.amountPaise).toFixed(2)} · ${input.terms.environment} · ${input.merchantId}`,
    staticDetails: DETAILS_FOR_OPERATORS,
    typedSearchAttributes: [
      { key: { name: 'OrderStatus', type: 'KEYWORD' }, value: status },
      { key: { name: 'MerchantId', type: 'KEYWORD' }, value: input.merchantId },
      { key: { name: 'Environment', type: 'KEYWORD' }, value: input.terms.environment },
      { key: { name: 'DisputeCount', type: 'INT' }, value: disputeCount },
    ],
  });
}

const DISPUTE_COUNT = defineSearchAttributeKey('DisputeCount', 'INT');

const { PENDING_WORKFLOW_TASK_STATE_SCHEDULED } =
  proto.temporal.api.enums.v1.PendingWorkflowTaskState;

async function find(client: Client, orderNumber: string): Promise<FoundWorkflow> {
  const handle = client.workflow.getHandle(orderNumber);
  try {
    const { status, runId, typedSearchAttributes, historyLength, raw } = await handle.describe();
    if (status.name === 'RUNNING') {
      // The start and its task are two events. While that task waits, a Signal can be the third one.
      const isWaiting = raw.pendingWorkflowTask?.state === PENDING_WORKFLOW_TASK_STATE_SCHEDULED;
      const hasBegun = historyLength > (isWaiting ? 3 : 2);
      const disputeCount = typedSearchAttributes.get(DISPUTE_COUNT) ?? 0;
      return { state: 'running', status: statusOf(typedSearchAttributes), disputeCount, hasBegun };
    }
    if (status.name !== 'COMPLETED') return { state: 'closed', result: undefined };
    // Of this run: a new one may have been started since, and could run for days.
    const run = client.workflow.getHandle(orderNumber, runId);
    return { state: 'closed', result: (await run.result()) as OrderResult };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { state: 'missing' };
    throw error;
  }
}

async function lastChangedAt(client: Client, orderNumber: string): Promise<Date | undefined> {
  try {
    const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
      namespace: client.options.namespace,
      execution: { workflowId: orderNumber },
      maximumPageSize: 1,
    });
    const at = history?.events?.[0]?.eventTime;
    return at ? new Date(secondsOf(at) * 1000) : undefined;
  } catch (error) {
    if (isGrpcNotFound(error)) return undefined;
    throw error;
  }
}

async function listRunning(
  client: Client,
  after: string,
  upTo: string,
): Promise<Map<string, OrderStatus | undefined>> {
  const running = new Map<string, OrderStatus | undefined>();
  const query = `WorkflowType = '${ORDER_WORKFLOW}' AND ExecutionStatus = 'Running' AND WorkflowId > '${after}' AND WorkflowId <= '${upTo}'`;
  for await (const found of client.workflow.list({ query, pageSize: 1000 })) {
    running.set(found.workflowId, statusOf(found.typedSearchAttributes));
  }
  return running;
}

async function* listEnded(client: Client, since: Date): AsyncGenerator<string> {
  const query = `WorkflowType = '${ORDER_WORKFLOW}' AND CloseTime >= '${since.toISOString()}'`;
  for await (const { workflowId } of client.workflow.list({ query, pageSize: 1000 })) {
    yield workflowId;
  }
}

function statusOf(attributes: TypedSearchAttributes): OrderStatus | undefined {
  const value = attributes.get(defineSearchAttributeKey('OrderStatus', 'KEYWORD'));
  return ORDER_STATUSES.find((status) => status === value);
}
