import { isGrpcDeadlineError, isGrpcServiceError } from '@temporalio/client';

/** The gRPC status codes that callers handle. */
const CANCELLED = 1;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;

const hasCode = (error: unknown, code: number) => isGrpcServiceError(error) && error.code === code;

export const isGrpcNotFound = (error: unknown) => hasCode(error, NOT_FOUND);

export const isGrpcAlreadyExists = (error: unknown) => hasCode(error, ALREADY_EXISTS);

/** True when a call reached its deadline. The server may end a long poll as CANCELLED shortly before. */
export const isDeadlineExceeded = (error: unknown) =>
  isGrpcDeadlineError(error) ||
  hasCode(error, CANCELLED) ||
  // The client wraps the error of a workflow's result.
  (error instanceof Error && hasCode(error.cause, CANCELLED));
