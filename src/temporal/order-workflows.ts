import type { Client } from '@temporalio/client';
import type { TypedSearchAttributes } from '@temporalio/common';
import { defineSearchAttributeKey } from '@temporalio/common';
import {
  ApplicationFailure,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import {
  CATCH_UP_SIGNAL,
  ORDER_WORKFLOW,
  REFUND_SURPLUS_WORKFLOW,
  refundWorkflowId,
  TASK_QUEUE,
} from '../contracts/ids.ts';
import type {
  OrderInput,
  OrderMessageName,
  OrderMessages,
  OrderResult,
} from '../contracts/order-workflow.ts';
import type { OrderStatus } from '../domain/index.ts';
import { DomainError, ERROR_CODES, ORDER_STATUSES, rupeesFromPaise } from '../domain/index.ts';
import { createTurns } from './turns.ts';

/** No caller waits longer for Temporal than this; then it is a 500. */
const TEMPORAL_TIMEOUT_MS = 4500;

/** A list may have thousands of entries, and no caller of the API waits for it. */
const LIST_TIMEOUT_MS = 20_000;

/**
 * Updates of one order that a process has under way at once. The server takes ten; one more it
 * refuses, and drops the workflow task in hand with it (docs/adr/0001).
 */
const MAX_UPDATES_AT_ONCE = 4;

/** Shown with each order in the Temporal UI, to somebody who never read this code. */
const DETAILS_FOR_OPERATORS = `One payment order. It waits for the buyer's payment, the merchant's delivery
and 24 hours without a dispute, then releases the funds. **Current details** say what it waits for now.

Updates that operators may send: \`cancel\`, \`deliver\` and \`resolve\`. What the order cannot do it refuses.
It also refuses here what moves money on a person's word, which needs a name and a reason: use \`admin dispute decide\`,
\`admin order refund\` and \`admin order settle\`.`;

/** What the rest of the service asks of the order workflow. */
export interface OrderWorkflows {
  /** Starts it unless it runs. Only for an order whose row is not final, or whose webhooks wait. */
  start(input: OrderInput): Promise<void>;
  /** What Temporal has of it now. */
  find(orderNumber: string): Promise<FoundWorkflow>;
  /** Those that run, of the order numbers after the first and up to the second. */
  listRunning(after: string, upTo: string): Promise<Map<string, OrderStatus | undefined>>;
  /** Those that have ended since a moment. */
  listEnded(since: Date): AsyncIterable<string>;
  /**
   * Carries a message out and waits until its step is recorded.
   *
   * @param updateId makes a repeat of the same request get the same answer
   * @returns `gone` when there is no such workflow running: the row has the last word then
   * @throws DomainError the workflow's refusal
   */
  update<Name extends OrderMessageName>(
    orderNumber: string,
    name: Name,
    message: OrderMessages[Name] & { requestId: string },
    updateId?: string,
  ): Promise<'done' | 'gone'>;
  /** Leaves a message that is carried out even if no worker runs now. */
  signal<Name extends OrderMessageName>(
    orderNumber: string,
    name: Name,
    message: OrderMessages[Name],
  ): Promise<'sent' | 'gone'>;
  /** Tells it that database and workflow may differ: it compares them. */
  catchUp(orderNumber: string): Promise<'sent' | 'gone'>;
  /** Gives a capture back that its order cannot take, once however often it is called. */
  refundSurplus(gatewayPaymentId: string): Promise<void>;
}

/** An order's workflow as Temporal has it. */
export type FoundWorkflow =
  /** Its status is read from its search attribute. */
  | { state: 'running'; status: OrderStatus | undefined }
  /** Its result is there unless it was terminated, or failed. */
  | { state: 'closed'; result: OrderResult | undefined }
  | { state: 'missing' };

/** Order workflows over a Temporal client; every call has a deadline of its own. */
export function createOrderWorkflows(
  client: Client,
  timeoutMs = TEMPORAL_TIMEOUT_MS,
): OrderWorkflows {
  const withinTimeout = <T>(call: () => Promise<T>): Promise<T> =>
    client.withDeadline(Date.now() + timeoutMs, call);
  const inTurn = createTurns(MAX_UPDATES_AT_ONCE);
  const starting = new Map<string, Promise<void>>();
  return {
    start(input) {
      const { orderNumber } = input;
      // Equal requests at once ask the server once.
      const start =
        starting.get(orderNumber) ??
        withinTimeout(() => startOrder(client, input)).finally(() => starting.delete(orderNumber));
      starting.set(orderNumber, start);
      return start;
    },
    find: (orderNumber) => withinTimeout(() => find(client, orderNumber)),
    listRunning: (after, upTo) =>
      client.withDeadline(Date.now() + LIST_TIMEOUT_MS, () => listRunning(client, after, upTo)),
    listEnded: (since) => listEnded(client, since),
    update: (orderNumber, name, message, updateId = message.requestId) =>
      withinTimeout(() =>
        inTurn(orderNumber, () => update(client, orderNumber, name, updateId, [message])),
      ),
    signal: (orderNumber, name, message) =>
      withinTimeout(() => signal(client, orderNumber, name, [message])),
    catchUp: (orderNumber) => withinTimeout(() => signal(client, orderNumber, CATCH_UP_SIGNAL, [])),
    refundSurplus: (gatewayPaymentId) =>
      withinTimeout(async () => {
        await client.workflow.start(REFUND_SURPLUS_WORKFLOW, {
          workflowId: refundWorkflowId(gatewayPaymentId),
          taskQueue: TASK_QUEUE,
          args: [{ gatewayPaymentId }],
          workflowIdConflictPolicy: 'USE_EXISTING',
        });
      }),
  };
}

async function update(
  client: Client,
  orderNumber: string,
  name: string,
  updateId: string,
  args: [unknown],
): Promise<'done' | 'gone'> {
  const handle = client.workflow.getHandle(orderNumber);
  for (;;) {
    try {
      await handle.executeUpdate<void, [unknown]>(name, { updateId, args });
      return 'done';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'gone';
      if (!isUnprocessed(error)) throw refusalOf(error);
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
    workflowIdConflictPolicy: 'USE_EXISTING',
    // A run reads the order's row before it does anything: another one does no harm.
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

async function find(client: Client, orderNumber: string): Promise<FoundWorkflow> {
  const handle = client.workflow.getHandle(orderNumber);
  try {
    const { status, typedSearchAttributes } = await handle.describe();
    if (status.name === 'RUNNING') {
      return { state: 'running', status: statusOf(typedSearchAttributes) };
    }
    const result =
      status.name === 'COMPLETED' ? ((await handle.result()) as OrderResult) : undefined;
    return { state: 'closed', result };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { state: 'missing' };
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

/** The server gave up on a task that many Updates shared; the workflow has not seen this one. */
function isUnprocessed(error: unknown): boolean {
  const cause = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
  return cause instanceof ApplicationFailure && cause.type === 'UnprocessedUpdate';
}

/** The workflow refuses with the domain's code as the failure's type, and its exact message. */
function refusalOf(error: unknown): unknown {
  if (!(error instanceof WorkflowUpdateFailedError)) return error;
  const { cause } = error;
  if (!(cause instanceof ApplicationFailure)) return error;
  const code = ERROR_CODES.find((known) => known === cause.type);
  return code ? new DomainError(code, cause.message, { cause: error }) : error;
}
