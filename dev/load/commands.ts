import type { StepKind } from '../../src/domain/index.ts';
import type { Answer } from './client.ts';
import { marked, newKey, surprise, type LoadDeps, type LoadOrder } from './order.ts';

const DAY_SECONDS = 24 * 3600;

interface Command {
  /** The end of its path. */
  readonly operation: string;
  /** A test helper of the sandbox, which acts as the buyer or moves the order's clock. */
  readonly isHelper?: boolean;
  readonly body?: object;
  /** The step that carries it out. */
  readonly step: StepKind;
}

/** The requests of merchants and buyers that are commands of the API. */
export const COMMANDS = {
  pay: { operation: 'pay', isHelper: true, step: 'PAYMENT_SUCCESS' },
  failPayment: { operation: 'fail-payment', isHelper: true, step: 'PAYMENT_FAILED' },
  deliver: {
    operation: 'deliver',
    body: { trackingId: 'TRACK-1', note: 'Left with a neighbour' },
    step: 'DELIVERY_CONFIRMED',
  },
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
} as const satisfies Record<string, Command>;
/** The name of a command. */
export type CommandName = keyof typeof COMMANDS;

/** The texts of a body, marked if the run searches for marks. */
const markedBody = (deps: LoadDeps, operation: string, body: object) =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]: [string, unknown]) => [
      name,
      typeof value === 'string' ? marked(deps, `${operation}${name}`, value) : value,
    ]),
  );

/**
 * Creates the order, and remembers each number that it is answered.
 *
 * @param times how many requests with the same key are sent at once
 * @throws Error unless it is created
 */
export async function create(
  order: LoadOrder,
  { times = 1, isRepeated = false } = {},
): Promise<void> {
  const { merchant, acknowledged, amountPaise } = order;
  const request = {
    method: 'POST',
    path: '/orders',
    idempotencyKey: acknowledged.idempotencyKey,
    body: markedBody(order.deps, '', {
      amount: amountPaise / 100,
      buyerName: 'Asha Rao',
      buyerEmail: 'asha@example.com',
      buyerPhone: '+919876543210',
      description: 'Blue kurta, size M',
    }),
  } as const;
  const remember = ({ status, message, data }: Answer) => {
    if (status !== 201 || data === null) throw new Error(`POST /orders: ${status} ${message}`);
    acknowledged.orderNumbers.add(data.order_number);
    acknowledged.createdAtMs ??= Date.now();
    order.orderNumber = data.order_number;
  };
  const answers = Array.from({ length: times }, () => merchant.client.untilAnswered(request));
  for (const answer of await Promise.all(answers)) remember(answer);
  if (!isRepeated) return;
  const again = await merchant.client.untilAnswered(request);
  remember(again);
  if (!again.isReplay) surprise(order, 'a repeat of its creation is not answered as one');
}

/** Opens a payment session. The buyer's app reads the QR code's id from its content, as UPI apps do. */
export async function openSession(order: LoadOrder, isRepeated = false): Promise<void> {
  const { deps, merchant, orderNumber } = order;
  const path = `/orders/${orderNumber}/payment-sessions`;
  const request = { method: 'POST', path, idempotencyKey: newKey(deps) } as const;
  const { status, message, data } = await merchant.client.untilAnswered(request);
  const content = data?.upi_intent;
  if (content === undefined) return surprise(order, `payment-sessions: ${status} ${message}`);
  const reference = new URL(content).searchParams.get('tr') ?? '';
  order.qrCodeId = `qr_${reference.slice('RZP'.length, -'qrv2'.length)}`;
  if (!isRepeated) return;
  const again = await merchant.client.untilAnswered(request);
  if (again.data?.upi_intent !== content) {
    surprise(order, `a repeat of payment-sessions: ${again.status}, another session`);
  }
}

/** Sends a command until it is answered, and remembers the answer. */
export async function send(
  order: LoadOrder,
  name: CommandName,
  isRepeated = false,
): Promise<Answer> {
  const { deps, merchant, orderNumber, acknowledged } = order;
  const { operation, isHelper, body, step }: Command = COMMANDS[name];
  const idempotencyKey = newKey(deps);
  const path = `${isHelper ? '/test-helpers' : ''}/orders/${orderNumber}/${operation}`;
  const content = body && { body: markedBody(deps, `${operation} `, body) };
  const request = { method: 'POST', path, idempotencyKey, ...content } as const;
  const answer = await merchant.client.untilAnswered(request);
  const { status, message } = answer;
  acknowledged.commands.push({ operation, idempotencyKey, step, status, atMs: Date.now() });
  if (status >= 300) surprise(order, `${operation}: ${status} ${message}`);
  else if (isRepeated) {
    const again = await merchant.client.untilAnswered(request);
    const isSame = again.status === 200 && again.isReplay;
    if (!isSame) surprise(order, `a repeat of ${operation}: ${again.status} ${again.message}`);
  }
  return answer;
}
