import { createHash } from 'node:crypto';

/**
 * What an erased order keeps of an Idempotency-Key, which may be a buyer's address: enough to recognise
 * a repeat. The SQL function `erased_key` is the same. No client can send it, because it has a space.
 *
 * @param scope the merchant id, or the order number for keys of one order
 */
export function erasedKeyOf(scope: string, idempotencyKey: string): string {
  return `erased ${createHash('sha256').update(`${scope} ${idempotencyKey}`).digest('hex')}`;
}
