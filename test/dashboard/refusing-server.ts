import { connect } from 'node:net';
import type { Route } from '../../src/http/define-route.ts';
import { createMemoryRateLimiter } from '../../src/http/limits/rate-limit.ts';
import { SLOW_CLIENT_LIMITS } from '../../src/http/server/server.ts';
import { serve } from '../api/http-support.ts';

/** Long enough for what is sent at once to be read, on a busy machine too. */
const REQUEST_TIMEOUT_MS = 3_000;

/** A limiter that has no room any more: its clock does not move. */
async function exhausted() {
  const limiter = createMemoryRateLimiter({ limitPerSecond: 1, nowMs: () => 0 });
  await limiter.admit('127.0.0.1');
  return limiter;
}

/** Serves the same routes for refusals before a form is read. @param isLimited whether the rate limit is used up */
export async function refusingServer(routes: readonly Route[], isLimited: boolean) {
  const rateLimiter = await exhausted();
  return serve({
    routes: isLimited ? routes.map((route) => ({ ...route, rateLimiter })) : routes,
    slowClientLimits: { ...SLOW_CLIENT_LIMITS, requestTimeout: REQUEST_TIMEOUT_MS },
  });
}

interface WrittenForm {
  readonly path: string;
  readonly cookie: string;
  readonly type: string;
  readonly body: string;
  /** How many bytes are promised after the body and never sent. */
  readonly missingBytes?: number;
  readonly site?: string;
}

/** Sends a form in one piece, so that all of it has arrived when it is refused. */
export async function writeForm(
  port: number,
  { path, cookie, type, body, missingBytes = 0, site = 'same-origin' }: WrittenForm,
): Promise<{ status: number; body: string }> {
  const socket = connect(port, '127.0.0.1');
  const lengthBytes = Buffer.byteLength(body) + missingBytes;
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Connection: close',
    `Sec-Fetch-Site: ${site}`,
    `Cookie: ${cookie}`,
    `Content-Type: ${type}`,
    `Content-Length: ${lengthBytes}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  const answer = Buffer.concat(chunks).toString();
  return { status: Number(answer.split(' ')[1]), body: answer };
}
