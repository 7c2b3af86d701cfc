import { Readable } from 'node:stream';
import type Koa from 'koa';
import { z } from 'zod';
import type { Reply } from '../define-route.ts';

/** The headers of every response; a route that serves a page replaces some of them. */
export const COMMON_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
} as const;

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

/** The standard response envelope of the specification. */
export interface Envelope<Data> {
  readonly success: true;
  readonly message: string;
  readonly data: Data;
  readonly timestamp: string;
}

const timestamp = z.iso.datetime().meta({ examples: ['2026-11-20T09:30:00.000Z'] });

/**
 * Wraps the data of a response in the standard envelope.
 *
 * @param message human-readable text, sent unchanged.
 * @param now the time of the response, sent as ISO-8601 UTC.
 */
export function success<Data>(message: string, data: Data, now = new Date()): Envelope<Data> {
  return { success: true, message, data, timestamp: now.toISOString() };
}

/** The schema of a standard envelope around `data`, for the `responses` of a route. */
export function envelopeOf<Data extends z.ZodType>(data: Data) {
  return z.object({
    success: z.literal(true),
    message: z.string(),
    data,
    timestamp,
  });
}

/** The schema of the standard error body. */
export const standardErrorSchema = z
  .object({
    success: z.literal(false),
    message: z.string(),
    data: z.null(),
    timestamp,
  })
  .meta({ id: 'Error', description: 'The standard error body.' });

/** The schema of a 400 that names the invalid fields. */
export const validationErrorSchema = z
  .object({
    message: z.literal('Validation failed'),
    status: z.literal(400),
    error: z.literal('Bad Request'),
    timestamp,
    validationErrors: z
      .record(z.string(), z.string())
      .meta({ examples: [{ amount: 'must be greater than or equal to 5.0' }] }),
  })
  .meta({ id: 'ValidationError', description: 'Every invalid field with its violation message.' });

/** The schema of a 429. */
export const rateLimitErrorSchema = z
  .object({ error: z.string() })
  .meta({ id: 'RateLimitError', description: 'Too many requests in one second.' });
