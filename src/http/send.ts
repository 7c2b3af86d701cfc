import type Koa from 'koa';
import type { Reply } from './define-route.ts';

/**
 * Writes an answer. JSON is made here and not by Koa, which would do it too late for an error to
 * become a body of ours.
 *
 * @param contentType of a body that is text or bytes already. An error is JSON all the same.
 */
export function send(ctx: Koa.Context, reply: Reply, contentType?: string): void {
  for (const [name, value] of Object.entries(reply.headers ?? {})) {
    if (value !== undefined) ctx.set(name, value);
  }
  const isReady = typeof reply.body === 'string' || Buffer.isBuffer(reply.body);
  const isRaw = contentType !== undefined && isReady;
  ctx.status = reply.status;
  ctx.type = isRaw ? contentType : 'application/json';
  ctx.body = isRaw ? reply.body : JSON.stringify(reply.body);
}
