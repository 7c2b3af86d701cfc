import type Koa from 'koa';
import type { Reply } from './define-route.ts';

/**
 * Writes an answer. JSON is made here and not by Koa, which would do it too late for an error to
 * become a body of ours.
 *
 * @param contentType of a body that is text or bytes already; JSON if absent.
 */
export function send(ctx: Koa.Context, reply: Reply, contentType?: string): void {
  for (const [name, value] of Object.entries(reply.headers ?? {})) {
    if (value !== undefined) ctx.set(name, value);
  }
  ctx.status = reply.status;
  ctx.type = contentType ?? 'application/json';
  ctx.body = contentType === undefined ? JSON.stringify(reply.body) : reply.body;
}
