import { createHmac } from 'node:crypto';
import { ulid } from 'ulid';
import type { OrderRow } from '../rows.ts';

/**
 * Makes the id of a command: the same for a repeat with the same Idempotency-Key, otherwise a new one. Temporal
 * stores the id, and a key may contain personal data, such as a buyer's address. So the id is an HMAC of operation
 * and key, keyed with the order's payment token, which Temporal never receives.
 *
 * @param operation distinguishes commands of different routes with the same key
 */
export function commandIdOf(
  { paymentToken: secret }: Pick<OrderRow, 'paymentToken'>,
  operation: string,
  idempotencyKey: string | undefined,
): string {
  if (idempotencyKey === undefined) return newCommandId();
  const hmac = createHmac('sha256', secret).update(`${operation}:${idempotencyKey}`);
  return `cmd_${hmac.digest('base64url')}`;
}

export function newCommandId(): string {
  return `cmd_${ulid()}`;
}
