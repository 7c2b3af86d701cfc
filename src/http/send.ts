import type Koa from 'koa';
import type { Reply } from './define-route.ts';

/**
 * Writes a response. It serialises JSON here, because Koa does it too late for an error handler.
 *
 * @param contentType of a body that is a string or bytes; any other body is sent as JSON.
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
