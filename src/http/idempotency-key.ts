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
