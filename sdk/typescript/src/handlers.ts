import type { WebhookEvent } from './types.ts';
import { verify, WebhookVerificationError } from './webhooks.ts';

/** Remembers which events were handled. Keep it where you keep the effects of the events. */
export interface DedupeStore {
  has(eventId: string): Promise<boolean> | boolean;
  /** Called after `onEvent` has succeeded. */
  add(eventId: string): Promise<void> | void;
}

/** A store in memory, for tests and a single process: it forgets everything when the process ends. */
export function memoryStore(mostEvents = 10_000): DedupeStore {
  const known = new Set<string>();
  return {
    has: (eventId) => known.has(eventId),
    add(eventId) {
      known.add(eventId);
      const [oldest] = known;
      if (known.size > mostEvents && oldest !== undefined) known.delete(oldest);
    },
  };
}

export interface HandlerOptions {
  /** The secrets of this endpoint and environment. During a rotation: the new and the old one. */
  readonly secrets: string | readonly string[];
  /**
   * Handles an event. If it fails, the answer is 500 and the service sends the event again. It may be called
   * twice for one event if the process dies before the store has it.
   */
  readonly onEvent: (event: WebhookEvent) => Promise<void> | void;
  readonly store: DedupeStore;
  /** Called when a webhook was not accepted. */
  readonly onError?: (error: unknown) => void;
}

interface Reply {
  readonly status: 200 | 401 | 413 | 500;
  readonly text: string;
}

type RawRequest = Parameters<typeof verify>;

/** Handles a webhook once: at the same moment, a repeat in this process waits for the first one. */
function createReply({ secrets, onEvent, store, onError }: HandlerOptions) {
  const running = new Map<string, Promise<void>>();

  async function handleOnce(event: WebhookEvent): Promise<void> {
    const { event_id: eventId } = event;
    const task =
      running.get(eventId) ??
      (async () => {
        // In here, so that no repeat finds neither the event in the store nor its task.
        if (await store.has(eventId)) return;
        await onEvent(event);
        await store.add(eventId);
      })().finally(() => running.delete(eventId));
    running.set(eventId, task);
    await task;
  }

  return async function reply(body: RawRequest[0], headers: RawRequest[1]): Promise<Reply> {
    try {
      await handleOnce(await verify(body, headers, secrets));
      return { status: 200, text: 'ok' };
    } catch (error) {
      onError?.(error);
      if (error instanceof WebhookVerificationError) return { status: 401, text: error.mistake };
      return { status: 500, text: 'failed' };
    }
  };
}

/** More than any webhook of the service. */
const MOST_BYTES = 1024 * 1024;

/** @throws RangeError for more bytes than any webhook has; the rest is not read */
async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const read: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > MOST_BYTES) throw new RangeError('The body is larger than any webhook');
    read.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of read) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** Reads a body, and answers it or the failure of reading it. */
async function replyTo(
  body: Promise<RawRequest[0]>,
  headers: RawRequest[1],
  { reply, onError }: { reply: ReturnType<typeof createReply>; onError: HandlerOptions['onError'] },
): Promise<Reply> {
  try {
    return await reply(await body, headers);
  } catch (error) {
    onError?.(error);
    return error instanceof RangeError
      ? { status: 413, text: 'too large' }
      : { status: 500, text: 'failed' };
  }
}

/** A handler for the web standard: Next.js, Hono, Remix, Deno, Bun, workers. */
export function webHandler(options: HandlerOptions): (request: Request) => Promise<Response> {
  const reply = createReply(options);
  return async (request) => {
    const body = request.body ? bytesOf(request.body) : Promise.resolve('');
    const { status, text } = await replyTo(body, request.headers, {
      reply,
      onError: options.onError,
    });
    return new Response(text, { status });
  };
}

/** The part of `IncomingMessage` that is read. */
interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** What a middleware has parsed. */
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** The part of `ServerResponse` that is written. */
interface NodeResponse {
  statusCode: number;
  end(text: string): unknown;
}

/** The bytes that arrived, or what a middleware has made of them. */
async function bodyOf(request: NodeRequest): Promise<RawRequest[0]> {
  const { rawBody, body } = request;
  const given = rawBody ?? body;
  // express.raw and the like give the bytes; whatever else is there is refused as parsed.
  if (given !== undefined) return given as RawRequest[0];
  return bytesOf(request);
}

/**
 * A handler for `node:http`, Express and Koa. Use it before any middleware that parses bodies.
 *
 * Koa: `(ctx) => { ctx.respond = false; return handler(ctx.req, ctx.res); }`
 */
export function nodeHandler(
  options: HandlerOptions,
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  const reply = createReply(options);
  return async (request, response) => {
    const { onError } = options;
    const { status, text } = await replyTo(bodyOf(request), request.headers, { reply, onError });
    response.statusCode = status;
    response.end(text);
  };
}
