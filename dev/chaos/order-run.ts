import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { StepKind } from '../../src/domain/index.ts';
import type { AcknowledgedOrder } from '../load/memory.ts';
import type { Answer } from '../load/client.ts';
import { GATEWAY_ACTS } from './gateway-acts.ts';
import { OPERATOR_ACTS } from './operator-acts.ts';
import type { Act, OrderPlan } from './order-plan.ts';
import type { OrderRunDeps, RunningOrder } from './running-order.ts';
import { surprise } from './running-order.ts';

const DAY_SECONDS = 24 * 3600;

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
  if (plan.ends) memory.finalStatus = plan.ends;
}

async function perform(order: RunningOrder, act: Act, isRepeated: boolean): Promise<void> {
  if (act === 'create' || act === 'createTwice') return create(order, act, isRepeated);
  if (act === 'openSession') return openSession(order, isRepeated);
  if (isOneOf(COMMANDS, act)) return send(order, COMMANDS[act], isRepeated);
  return { ...GATEWAY_ACTS, ...OPERATOR_ACTS }[act](order);
}

const isOneOf = <Acts extends object>(acts: Acts, act: Act): act is Act & keyof Acts =>
  Object.hasOwn(acts, act);

async function create(
  order: RunningOrder,
  act: 'create' | 'createTwice',
  isRepeated: boolean,
): Promise<void> {
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
    if (status !== 201 || data === null) throw new Error(`POST /orders: ${status} ${message}`);
    memory.orderNumbers.add(data.order_number);
    memory.createdAtMs ??= Date.now();
  };
  const answers = Array.from({ length: act === 'createTwice' ? 2 : 1 }, () =>
    client.untilAnswered(request),
  );
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
  memory.commands.push({ operation, idempotencyKey, step, result, atMs: Date.now() });
  if (result === 'refused') return void surprise(order, `${operation}: ${status} ${message}`);
  if (!isRepeated) return;
  const again = await client.untilAnswered(request);
  if (again.status === 200 && again.isReplay) return;
  surprise(order, `a repeat of ${operation}: ${again.status} ${again.message}`);
}
