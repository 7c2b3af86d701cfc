import { z } from 'zod';

/** Source: the contract. Visible ASCII can be sent by every client and shown in every log. */
const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, { error: 'must be 1 to 255 visible ASCII characters' })
  .meta({
    description: 'Makes a request safe to retry: with the same key it is carried out once.',
    example: 'SHOP-1042-create',
  });
/** The request header of every operation that can be repeated safely. */
export const keyHeaders = z.object({ 'Idempotency-Key': idempotencyKey.optional() });

/** The response headers of a request whose key was used before. */
export const replayHeaders = z.object({
  'Idempotent-Replayed': z.literal('true').optional().meta({
    description: 'The key was used before; the response shows the current state of its result.',
  }),
  'Idempotency-Key-Mismatch': z
    .literal('true')
    .optional()
    .meta({ description: 'The key was used with another body; this body was ignored.' }),
});

/**
 * The message of a response: that of a replay with another body says so. Source: the contract.
 *
 * @param done the message of any other response
 * @param existing names what a replay returns
 */
export function replayMessage(
  done: string,
  existing: 'order' | 'result',
  { mismatch }: { mismatch: boolean },
): string {
  return mismatch ? `Existing ${existing} returned; its input differs from this request` : done;
}

/** The values of {@link replayHeaders}; empty when the key is new or absent. */
export function replayHeadersOf({ replayed, mismatch }: { replayed: boolean; mismatch: boolean }) {
  return {
    ...(replayed && { 'Idempotent-Replayed': 'true' as const }),
    ...(mismatch && { 'Idempotency-Key-Mismatch': 'true' as const }),
  };
}
