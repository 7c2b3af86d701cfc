import { CompleteAsyncError } from '@temporalio/activity';
import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { framesOf, safeLine, safeMessage } from '../process/log-content.ts';

/** An error of a library as a failure: its message can quote a value of a row or a request. */
function failureOf(error: Error): ApplicationFailure {
  const message = safeLine(safeMessage(error));
  const failure = ApplicationFailure.create({ message, type: error.name });
  failure.stack = `${error.name}: ${message}\n${framesOf(error.stack) ?? ''}`;
  return failure;
}

/** The SDK recognizes these: a later completion, and the end of a cancelled activity. */
function isForTheSdk(error: unknown): boolean {
  return (
    error instanceof CompleteAsyncError || (error instanceof Error && error.name === 'AbortError')
  );
}

/**
 * Temporal stores the failure of each activity, message, stack and causes. This turns errors of
 * libraries into failures without the values that they quote. It changes no retry: the type is the
 * name of the error, as the SDK would choose it.
 */
export const storableFailures: ActivityInterceptorsFactory = () => ({
  inbound: {
    async execute(input, next) {
      try {
        return await next(input);
      } catch (error) {
        if (isForTheSdk(error)) throw error;
        if (!(error instanceof TemporalFailure)) {
          throw error instanceof Error ? failureOf(error) : error;
        }
        if (!(error instanceof ApplicationFailure)) throw error;
        error.message = safeLine(error.message);
        const { cause } = error;
        if (cause instanceof Error && !(cause instanceof TemporalFailure)) {
          Object.defineProperty(error, 'cause', { value: failureOf(cause) });
        }
        throw error;
      }
    },
  },
});
