/**
 * True for a gRPC error, bare or wrapped by Temporal's client. It does not use the client's own
 * check, because loading the client is slow.
 */
export function isTemporalError(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const hasStatus = 'code' in error && typeof error.code === 'number';
  return hasStatus || error.name === 'ServiceError' || isTemporalError(error.cause);
}

/** The line to print for a Temporal error. */
export function temporalLineOf(error: Error): string {
  return `Temporal cannot be reached: ${error.message.split('\n')[0] ?? ''}`;
}
