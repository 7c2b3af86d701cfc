import { isGrpcDeadlineError, isGrpcServiceError } from '@temporalio/client';

/** gRPC's numbers for the statuses that are answers to us, not failures. */
const CANCELLED = 1;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;

const hasCode = (error: unknown, code: number) => isGrpcServiceError(error) && error.code === code;

/** The server answered that there is no such thing. */
export const isGrpcNotFound = (error: unknown) => hasCode(error, NOT_FOUND);

/** The server answered that it is there already. */
export const isGrpcAlreadyExists = (error: unknown) => hasCode(error, ALREADY_EXISTS);

/** Our time was over; the server sometimes ends a call that waits a moment before that. */
export const isOutOfTime = (error: unknown) =>
  isGrpcDeadlineError(error) || hasCode(error, CANCELLED);
