import { Readable } from 'node:stream';
import type Koa from 'koa';
import type { Reply } from '../define-route.ts';

/**
 * Writes a response. It serialises JSON here, because Koa does it too late for an error handler. Koa
 * pipes a stream: when it fails, Koa closes the connection, so that the client does not take the sent
 * part for the whole; when the client closes the connection, Koa destroys the stream.
 *
 * @param contentType of a body that is a string, bytes or a stream; any other body is sent as JSON.
 */
export function send(ctx: Koa.Context, reply: Reply, contentType?: string): void {
  for (const [name, value] of Object.entries(reply.headers ?? {})) {
    if (value !== undefined) ctx.set(name, value);
  }
  const { body } = reply;
  const isReady = typeof body === 'string' || Buffer.isBuffer(body) || body instanceof Readable;
  const isRaw = contentType !== undefined && isReady;
  ctx.status = reply.status;
  ctx.type = isRaw ? contentType : 'application/json';
  ctx.body = isRaw ? body : JSON.stringify(body);
}
