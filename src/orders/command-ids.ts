import { createHmac } from 'node:crypto';
import { ulid } from 'ulid';
import type { OrderRow } from './rows.ts';

/**
 * The id of a request: the same for a repeat with the same Idempotency-Key, otherwise new. Temporal
 * stores the id, and a key may contain anything, such as a buyer's address. So the id is an HMAC of
 * operation and key, keyed with the order's payment token, which Temporal never receives.
 */
export function commandIdOf(
  { paymentToken: secret }: OrderRow,
  operation: string,
  idempotencyKey: string | undefined,
): string {
  if (idempotencyKey === undefined) return newCommandId();
  const hmac = createHmac('sha256', secret).update(`${operation}:${idempotencyKey}`);
  return `cmd_${hmac.digest('base64url')}`;
}

/** The id of a request without an Idempotency-Key. */
export function newCommandId(): string {
  return `cmd_${ulid()}`;
}
