/** A gRPC status, bare or in the client's own wrapping. Asking the client would mean loading it. */
export function isTemporalError(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const hasStatus = 'code' in error && typeof error.code === 'number';
  return hasStatus || error.name === 'ServiceError' || isTemporalError(error.cause);
}

/** The one line about it. */
export function temporalLineOf(error: Error): string {
  return `Temporal cannot be reached: ${error.message.split('\n')[0] ?? ''}`;
}
