import type { Trigger } from '@temporalio/workflow';
import { ApplicationFailure, log } from '@temporalio/workflow';
import type { RecordStepInput } from '../src/contracts/activities.ts';
import type { IncomingMessage, OrderMessageName } from '../src/contracts/order-workflow.ts';
import type { Command } from '../src/domain/index.ts';
import { DomainError } from '../src/domain/index.ts';

/** A message that waits for its turn, or something that happens by itself. */
export interface Request {
  command: Command;
  message: IncomingMessage;
  /** The Update's answer; a Signal and a deadline have nobody to answer. */
  answer?: Trigger<void>;
}

/** Ids end in database columns and in workflow ids: Temporal's limit, less our prefixes. */
const MAX_ID_LENGTH = 500;
/** The contract's bound for the sandbox clock: 30 days. */
const MAX_ADVANCE_SECONDS = 2_592_000;
/** The last moment that a Date can hold. */
const MAX_TIME_MS = 8.64e15;

/**
 * The domain's command for a message. Messages come from the API, but also from operators through
 * the Temporal UI, so nothing about their content is taken for granted: one that the database could
 * never take would keep its order busy for ever.
 *
 * @throws ApplicationFailure `BAD_REQUEST` when a field is missing or wrong
 */
export function commandOf(name: OrderMessageName, message: IncomingMessage): Command {
  if (typeof message !== 'object' || message === null) throw badMessage('The message', 'an object');
  const { requestId, gatewayPaymentId } = message;
  if (requestId !== undefined) assertId('requestId', requestId);
  if (gatewayPaymentId !== undefined || name === 'pay')
    assertId('gatewayPaymentId', gatewayPaymentId);
  switch (name) {
    case 'pay':
      return { type: 'pay' };
    case 'dispute':
      return { type: 'dispute', receivedAtMs: timeOf(message.receivedAtMs) };
    case 'decide':
      if (message.for === 'merchant') return { type: 'decideForMerchant' };
      if (message.for === 'buyer') return { type: 'decideForBuyer' };
      throw badMessage('for', '"merchant" or "buyer"');
    case 'advance':
      return { type: 'advance', seconds: secondsOf(message.seconds) };
    default:
      return { type: name };
  }
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

/** What of a message belongs into the book beside its step. */
export function recordedWith({
  message: { requestId, gatewayPaymentId },
  answer,
}: Pick<Request, 'message' | 'answer'>): Pick<
  RecordStepInput,
  'requestId' | 'gatewayPaymentId' | 'forUpdate'
> {
  return {
    ...(answer && { forUpdate: true }),
    ...(requestId !== undefined && { requestId }),
    ...(gatewayPaymentId !== undefined && { gatewayPaymentId }),
  };
}

/** Answers an Update with the refusal; a Signal's refusal is logged, never fatal. */
export function refuse({ command, answer }: Request, error: DomainError): void {
  if (answer) answer.reject(failureOf(error));
  else log.warn('Refused', { command: command.type, reason: error.message });
}

/** The failure that crosses to the client: its type is the `ErrorCode`. */
export function failureOf(error: DomainError): ApplicationFailure {
  return ApplicationFailure.nonRetryable(error.message, error.code);
}

function badMessage(field: string, form: string): ApplicationFailure {
  return failureOf(new DomainError('BAD_REQUEST', `${field} must be ${form}`));
}
