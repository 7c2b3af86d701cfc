/** What came of an attempt: `200`, or why it failed. */
export function resultText({
  statusCode,
  error,
}: {
  statusCode: number | null;
  error: string | null;
}): string {
  return error ?? String(statusCode ?? '');
}
