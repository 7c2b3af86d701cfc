import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { OrderStatus, StepKind } from '../../src/domain/index.ts';
import { runAdmin } from '../../src/main/admin/run.ts';
import type { Acknowledged, AcknowledgedOrder } from './acknowledged.ts';
import type { Answer, MerchantClient } from './client.ts';
import type { SimulatorAccess } from './gateway.ts';
import { controlSimulator } from './gateway.ts';
import type { Act, OrderPlan } from './order-plan.ts';

/** A merchant of the run. */
export interface RunMerchant {
  readonly merchantId: string;
  readonly client: MerchantClient;
}

/** What the orders of a run share. */
export interface OrderRunDeps {
  readonly merchants: readonly RunMerchant[];
  readonly simulator: SimulatorAccess;
  /** The settings of the operators' command line. */
  readonly environment: Readonly<Record<string, string>>;
  readonly acknowledged: Acknowledged;
}

const DAY_SECONDS = 24 * 3600;
const POLL_MS = 1000;
const STATUS_WITHIN_MS = 600_000;

/** An order while its plan is carried out. */
interface RunningOrder {
  readonly deps: OrderRunDeps;
  readonly plan: OrderPlan;
  readonly client: MerchantClient;
  readonly memory: AcknowledgedOrder;
  /** Set by the answer to its creation. */
  orderNumber: string;
  qrCodeId: string;
}

/** The requests of the acts that are commands of the API. */
const COMMANDS = {
  pay: { operation: 'pay', isHelper: true, step: 'PAYMENT_SUCCESS' },
  failPayment: { operation: 'fail-payment', isHelper: true, step: 'PAYMENT_FAILED' },
  deliver: { operation: 'deliver', body: { trackingId: 'TRACK-1' }, step: 'DELIVERY_CONFIRMED' },
  cancel: { operation: 'cancel', body: { reason: 'Out of stock' }, step: 'ORDER_CANCELLED' },
  refund: { operation: 'refund', body: { reason: 'Cannot be sent' }, step: 'REFUND_STARTED' },
  dispute: {
    operation: 'dispute',
    isHelper: true,
    body: { reason: 'The parcel was empty when it came' },
    step: 'DISPUTE_RAISED',
  },
  resolve: {
    operation: 'dispute/resolve',
    body: { resolution: 'A new parcel was sent' },
    step: 'DISPUTE_RESOLVED',
  },
  accept: { operation: 'dispute/accept', step: 'REFUND_STARTED' },
  submitEvidence: {
    operation: 'dispute/evidence',
    body: { text: 'The courier has a signature' },
    step: 'EVIDENCE_SUBMITTED',
  },
  advanceOneDay: {
    operation: 'advance',
    isHelper: true,
    body: { seconds: DAY_SECONDS },
    step: 'CLOCK_ADVANCED',
  },
  advanceThreeDays: {
    operation: 'advance',
    isHelper: true,
    body: { seconds: 3 * DAY_SECONDS },
    step: 'CLOCK_ADVANCED',
  },
} as const satisfies Partial<Record<Act, Command>>;

interface Command {
  readonly operation: string;
  /** A test helper of the sandbox. */
  readonly isHelper?: boolean;
  readonly body?: object;
  readonly step: StepKind;
}

/** Carries out the plan of one order, from its creation to its last act. @throws Error without an answer */
export async function runOrder(deps: OrderRunDeps, plan: OrderPlan): Promise<void> {
  const merchant = deps.merchants[plan.merchant];
  if (!merchant) throw new Error(`There is no merchant ${plan.merchant}`);
  const { merchantId, client } = merchant;
  const memory: AcknowledgedOrder = {
    merchantId,
    idempotencyKey: randomUUID(),
    orderNumbers: new Set(),
    commands: [],
    ...(plan.mostCaptures !== undefined && { mostCaptures: plan.mostCaptures }),
  };
  deps.acknowledged.orders.push(memory);
  const order: RunningOrder = { deps, plan, client, memory, orderNumber: '', qrCodeId: '' };
  for (const [index, act] of plan.acts.entries()) {
    const { waitMs = 0, isRepeated = false } = plan.pauses[index] ?? {};
    if (index > 0) await delay(waitMs);
    await perform(order, act, isRepeated);
  }
  memory.finalStatus = plan.ends;
}

async function perform(order: RunningOrder, act: Act, isRepeated: boolean): Promise<void> {
  switch (act) {
    case 'create':
    case 'createTwice':
      return create(order, act === 'createTwice', isRepeated);
    case 'openSession':
      return openSession(order, isRepeated);
    case 'payAtGateway':
      await control(order, 'pay');
      return untilStatus(order, 'PAID');
    case 'payTwiceAtGateway':
      await Promise.all([control(order, 'pay'), control(order, 'pay', { late: true })]);
      return untilStatus(order, 'PAID');
    case 'payLateAtGateway':
      return control(order, 'pay', { late: true });
    case 'failAtGateway':
      return control(order, 'fail');
    case 'decideForMerchant':
      return decide(order, 'merchant');
    case 'decideForBuyer':
      return decide(order, 'buyer');
    default:
      return send(order, COMMANDS[act], isRepeated);
  }
}

const surprise = ({ deps, orderNumber }: RunningOrder, fault: string) =>
  deps.acknowledged.surprises.push({ subject: orderNumber, fault });

async function create(order: RunningOrder, isTwice: boolean, isRepeated: boolean): Promise<void> {
  const { client, memory, plan } = order;
  const request = {
    method: 'POST',
    path: '/orders',
    idempotencyKey: memory.idempotencyKey,
    body: {
      amount: plan.amountPaise / 100,
      buyerEmail: 'asha@example.com',
      buyerPhone: '+919876543210',
      description: `Order that is ${plan.kind}`,
    },
  } as const;
  const remember = ({ status, message, data }: Answer) => {
    if (status !== 201) throw new Error(`POST /orders: ${status} ${message}`);
    memory.orderNumbers.add(data.order_number);
  };
  const answers = Array.from({ length: isTwice ? 2 : 1 }, () => client.untilAnswered(request));
  for (const answer of await Promise.all(answers)) remember(answer);
  order.orderNumber = [...memory.orderNumbers][0] ?? '';
  if (!isRepeated) return;
  const again = await client.untilAnswered(request);
  remember(again);
  if (!again.isReplay) surprise(order, 'a repeat of its creation is not answered as one');
}

async function openSession(order: RunningOrder, isRepeated: boolean): Promise<void> {
  const { client, orderNumber } = order;
  const path = `/orders/${orderNumber}/payment-sessions`;
  const request = { method: 'POST', path, idempotencyKey: randomUUID() } as const;
  const { status, message, data } = await client.untilAnswered(request);
  const content = data?.upi_intent;
  if (content === undefined) {
    return void surprise(order, `payment-sessions: ${status} ${message}`);
  }
  // The buyer's app reads the QR code's id from its content, as UPI apps do.
  const reference = new URL(content).searchParams.get('tr') ?? '';
  order.qrCodeId = `qr_${reference.slice('RZP'.length, -'qrv2'.length)}`;
  if (!isRepeated) return;
  const again = await client.untilAnswered(request);
  if (again.data?.upi_intent !== content) {
    surprise(order, `a repeat of payment-sessions: ${again.status}, another session`);
  }
}

/** The buyer acts at the gateway. A refusal says that an earlier call without an answer was carried out. */
async function control(
  { deps, qrCodeId }: RunningOrder,
  action: 'pay' | 'fail',
  body: object = {},
): Promise<void> {
  await controlSimulator(deps.simulator, `/qr_codes/${qrCodeId}/${action}`, body);
}

async function send(
  order: RunningOrder,
  { operation, isHelper, body, step }: Command,
  isRepeated: boolean,
): Promise<void> {
  const { client, orderNumber, memory } = order;
  const idempotencyKey = randomUUID();
  const path = `${isHelper ? '/test-helpers' : ''}/orders/${orderNumber}/${operation}`;
  const request = { method: 'POST', path, idempotencyKey, ...(body && { body }) } as const;
  const { status, message } = await client.untilAnswered(request);
  const result = status < 300 ? 'carried out' : 'refused';
  memory.commands.push({ operation, idempotencyKey, step, result });
  if (result === 'refused') return void surprise(order, `${operation}: ${status} ${message}`);
  if (!isRepeated) return;
  const again = await client.untilAnswered(request);
  if (again.status === 200 && again.isReplay) return;
  surprise(order, `a repeat of ${operation}: ${again.status} ${again.message}`);
}

async function statusOf({ client, orderNumber }: RunningOrder): Promise<OrderStatus> {
  const { data } = await client.untilAnswered({ method: 'GET', path: `/orders/${orderNumber}` });
  return data.status;
}

async function untilStatus(order: RunningOrder, wanted: OrderStatus): Promise<void> {
  const endsAt = performance.now() + STATUS_WITHIN_MS;
  while ((await statusOf(order)) !== wanted) {
    if (performance.now() > endsAt) {
      return void surprise(order, `is not ${wanted} after ${STATUS_WITHIN_MS / 1000} s`);
    }
    await delay(POLL_MS);
  }
}

/** An operator decides, and repeats the command until the dispute is no longer under review. */
async function decide(order: RunningOrder, winner: 'merchant' | 'buyer'): Promise<void> {
  const { deps, orderNumber } = order;
  const reason = 'The evidence decides it';
  const args = ['--order', orderNumber, '--for', winner, '--reason', reason, '--yes'];
  for (;;) {
    const { exitCode } = await runAdmin(['dispute', 'decide', ...args], () => deps.environment);
    const { client } = order;
    if (exitCode === 0) return;
    const { data } = await client.untilAnswered({ method: 'GET', path: `/orders/${orderNumber}` });
    const isDecided = data.status !== 'DISPUTE_UNDER_REVIEW' || data.refund !== null;
    if (isDecided) return;
    await delay(POLL_MS);
  }
}
