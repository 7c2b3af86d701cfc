import type { Trigger } from '@temporalio/workflow';
import { ApplicationFailure, log } from '@temporalio/workflow';
import type { RecordStepResult } from '../../src/contracts/activities.ts';
import type { PaymentRef } from '../../src/contracts/ids.ts';
import { GATEWAY_NAME } from '../../src/contracts/ids.ts';
import type { IncomingMessage, OrderMessageName } from '../../src/contracts/order-workflow.ts';
import type { Command } from '../../src/domain/index.ts';
import { DomainError, REFUSALS, SETTLE_COMMANDS } from '../../src/domain/index.ts';

/** A command in the inbox, from a message, the gateway's result, or a deadline. */
export interface QueuedCommand {
  command: Command;
  message: IncomingMessage;
  /** Completes the Update. Absent for a Signal, a deadline and the gateway. */
  answer?: Trigger<void>;
}

/** The longest id in a message: Temporal's limit for workflow ids, minus the service's prefixes. */
const MAX_ID_LENGTH = 500;
/** The contract's limit for the sandbox clock: 30 days. */
const MAX_ADVANCE_SECONDS = 2_592_000;
/** The latest time that a Date can hold. */
const MAX_TIME_MS = 8.64e15;

/** The refusal of a settlement that `admin order settle` has not recorded first. */
const SETTLE_ELSEWHERE = 'Cannot settle from here; use admin order settle';

const COMMANDS = {
  pay(message) {
    assertPayment(message);
    return { type: 'pay' };
  },
  failPayment: () => ({ type: 'failPayment' }),
  deliver: () => ({ type: 'deliver' }),
  cancel: () => ({ type: 'cancel' }),
  refund: () => ({ type: 'refund' }),
  dispute: ({ receivedAtMs }) => ({ type: 'dispute', receivedAtMs: timeOf(receivedAtMs) }),
  submitEvidence: () => ({ type: 'submitEvidence' }),
  resolve: () => ({ type: 'resolve' }),
  accept: () => ({ type: 'accept' }),
  decide({ for: winner }) {
    if (winner === 'merchant') return { type: 'decideForMerchant' };
    if (winner === 'buyer') return { type: 'decideForBuyer' };
    throw badMessage('for', '"merchant" or "buyer"');
  },
  advance: ({ seconds }) => ({ type: 'advance', seconds: secondsOf(seconds) }),
  settle({ outcome }) {
    if (outcome === 'released' || outcome === 'refunded') return { type: SETTLE_COMMANDS[outcome] };
    throw failureOf(new DomainError('INVALID_STATE', SETTLE_ELSEWHERE));
  },
} as const satisfies Record<OrderMessageName, (message: IncomingMessage) => Command>;

export const MESSAGE_NAMES = Object.keys(COMMANDS) as OrderMessageName[];

/**
 * The domain's command for a message. Operators can send messages from the Temporal UI, so every field is checked: a
 * field that the database can never record would block the order.
 *
 * @throws ApplicationFailure `BAD_REQUEST` when a field is missing or wrong
 */
export function commandOf(name: OrderMessageName, message: IncomingMessage): Command {
  if (typeof message !== 'object' || message === null) throw badMessage('The message', 'an object');
  const { commandId, gatewayPaymentId } = message;
  if (commandId !== undefined) assertId('commandId', commandId);
  if (gatewayPaymentId !== undefined) assertId('gatewayPaymentId', gatewayPaymentId);
  return COMMANDS[name](message);
}

/** The payment of a `pay` message. Undefined for any other message. */
export function paymentOf({ command, message }: QueuedCommand): PaymentRef | undefined {
  const { gateway, gatewayPaymentId } = message;
  if (command.type !== 'pay' || gateway === undefined || gatewayPaymentId === undefined) {
    return undefined;
  }
  return { gateway, gatewayPaymentId };
}

function assertPayment({ gateway, gatewayPaymentId }: IncomingMessage): void {
  assertId('gatewayPaymentId', gatewayPaymentId);
  const isName = typeof gateway === 'string' && GATEWAY_NAME.test(gateway);
  if (!isName) throw badMessage('gateway', "the name of a payment gateway's adapter");
}

function assertId(field: string, value: unknown): void {
  const isText = typeof value === 'string' && value !== '' && value.length <= MAX_ID_LENGTH;
  if (!isText || value.includes('\0') || !value.isWellFormed()) throw badMessage(field, 'an id');
}

function timeOf(value: unknown): number {
  if (value === undefined) return Date.now();
  if (typeof value === 'number' && value >= 0 && value <= MAX_TIME_MS) return value;
  throw badMessage('receivedAtMs', 'Unix milliseconds');
}

function secondsOf(value: unknown): number {
  const inRange = Number.isInteger(value) && Number(value) >= 1;
  if (inRange && Number(value) <= MAX_ADVANCE_SECONDS) return Number(value);
  throw badMessage('seconds', 'a whole number from 1 to 2592000');
}

/** Fails an Update with the refusal. The refusal of a Signal is only logged. */
export function refuse({ command, answer }: QueuedCommand, error: DomainError): void {
  if (answer) answer.reject(failureOf(error));
  else log.warn('Refused', { command: command.type, reason: error.message });
}

/** What an operator should use instead of a bare message from the Temporal UI. */
function elsewhere(type: Command['type']): string {
  switch (type) {
    case 'accept':
      return 'Cannot accept from here; the merchant does it through the API, an operator with admin dispute decide';
    case 'decideForMerchant':
    case 'decideForBuyer':
      return 'Cannot decide from here; use admin dispute decide';
    case 'refund':
      return "Cannot refund from here; use the order's page in the operators' dashboard";
    default:
      return `${REFUSALS[type]}; no recorded command says who asks for it`;
  }
}

/** The refusal if the order's row does not meet what a step requires. */
export function refusalOfUnmet({ command }: QueuedCommand, { outcome }: Unmet): DomainError {
  const reasons = {
    payment_not_captured: 'The payment is not recorded as captured for this order',
    payment_gone: `${REFUSALS[command.type]}; its payment was refunded or charged back at the gateway`,
    chargeback_open: `${REFUSALS[command.type]}; a chargeback is open`,
    not_settled: SETTLE_ELSEWHERE,
    command_not_recorded: elsewhere(command.type),
    earlier_dispute: `${REFUSALS[command.type]}; it was asked for before the dispute was raised`,
    disputed: `${REFUSALS[command.type]}; a dispute is waiting`,
    answered: `${REFUSALS[command.type]}; an answer that was received in time is waiting`,
    too_early: 'The deadline has not passed yet',
    release_waits: 'The release waits',
  } as const satisfies Record<Unmet['outcome'], string>;
  return new DomainError('INVALID_STATE', reasons[outcome]);
}

export type Unmet = Exclude<
  RecordStepResult,
  { outcome: 'recorded' | 'row_behind' | 'repeated' | 'deadline_late' }
>;

/** The failure for the client. Its type is the `ErrorCode`. */
export function failureOf(error: DomainError): ApplicationFailure {
  return ApplicationFailure.nonRetryable(error.message, error.code);
}

function badMessage(field: string, form: string): ApplicationFailure {
  return failureOf(new DomainError('BAD_REQUEST', `${field} must be ${form}`));
}
