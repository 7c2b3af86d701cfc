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

/**
 * The domain's command for a message. Messages come from the API, but also from operators through
 * the Temporal UI, so nothing about their content is taken for granted.
 *
 * @throws ApplicationFailure `BAD_REQUEST` when a field that the command needs is missing or wrong
 */
export function commandOf(name: OrderMessageName, message: IncomingMessage): Command {
  switch (name) {
    case 'pay':
      if (typeof message.gatewayPaymentId !== 'string')
        throw badMessage('gatewayPaymentId', 'text');
      return { type: 'pay' };
    case 'dispute':
      return { type: 'dispute', receivedAtMs: message.receivedAtMs ?? Date.now() };
    case 'decide':
      if (message.for === 'merchant') return { type: 'decideForMerchant' };
      if (message.for === 'buyer') return { type: 'decideForBuyer' };
      throw badMessage('for', '"merchant" or "buyer"');
    case 'advance':
      if (!Number.isInteger(message.seconds)) throw badMessage('seconds', 'a whole number');
      return { type: 'advance', seconds: Number(message.seconds) };
    default:
      return { type: name };
  }
}

/** What of a message belongs into the book beside its step. */
export function recordedWith({
  requestId,
  gatewayPaymentId,
}: IncomingMessage): Pick<RecordStepInput, 'requestId' | 'gatewayPaymentId'> {
  return {
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
