import { z } from 'zod';

/** Visible ASCII: what every HTTP client can send and every log can show. */
const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, { error: 'must be 1 to 255 visible ASCII characters' })
  .meta({
    description: 'Repeat a request with the same key: it happens once.',
    example: 'SHOP-1042-create',
  });
/** The request header of every operation that can be repeated safely. */
export const keyHeaders = z.object({ 'Idempotency-Key': idempotencyKey.optional() });

/** How an answer says that the key was known. */
export const replayHeaders = z.object({
  'Idempotent-Replayed': z.literal('true').optional().meta({
    description: 'This key was used before; the answer is what came of that, as it is now.',
  }),
  'Idempotency-Key-Mismatch': z
    .literal('true')
    .optional()
    .meta({ description: 'It was used with another body, and that one counts.' }),
});

/** The headers that fit; none when the key is new, or there was none. */
export function replayHeadersOf({ replayed, mismatch }: { replayed: boolean; mismatch: boolean }) {
  return {
    ...(replayed && { 'Idempotent-Replayed': 'true' as const }),
    ...(mismatch && { 'Idempotency-Key-Mismatch': 'true' as const }),
  };
}
