import { request } from 'undici';
import type { Dispatcher } from 'undici';
import type { z } from 'zod';
import type { CallLog } from '../adapter.ts';
import { GatewayRefused, GatewayUnavailable } from '../gateway.ts';
import { errorSchema } from './schemas.ts';

/** What came of one HTTP call, sorted by what it says about the work that was asked for. */
export type Answer<Value> =
  | { kind: 'done'; value: Value }
  /** Razorpay's own refusal: the work was not done, and would not be done the next time. */
  | { kind: 'refused'; code: string; description: string }
  /** It did not reach the other side, or was turned away at the door. */
  | { kind: 'not_sent'; detail: string; cause?: unknown }
  /** It may have been done. */
  | { kind: 'unknown'; detail: string; cause?: unknown };

export type Failure = Exclude<Answer<never>, { kind: 'done' }>;

export interface Call {
  method: 'GET' | 'POST' | 'PATCH';
  path: string;
  query?: Readonly<Record<string, string | number>>;
  body?: Readonly<Record<string, unknown>>;
  headers?: Readonly<Record<string, string>>;
  /** Ends the call, and with it a whole operation of several calls. */
  signal?: AbortSignal;
}

export interface RazorpayClient {
  call<Value>(call: Call, schema: z.ZodType<Value>): Promise<Answer<Value>>;
}

interface ClientOptions {
  baseUrl: string;
  keyId: string;
  keySecret: string;
  timeoutMs: number;
  dispatcher: Dispatcher;
  log?: CallLog | undefined;
}

/** Failures of connecting: nothing of the request has left this machine. */
const CONNECT_FAILURES = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function failureOf(error: unknown): Failure {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const name = error instanceof Error ? error.name : 'unknown error';
  const detail = code === '' || code === '23' ? name : code;
  return { kind: CONNECT_FAILURES.has(code) ? 'not_sent' : 'unknown', detail, cause: error };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Codes under which Razorpay reports its own and its banks' faults, whatever the status. */
const PASSING_CODES = new Set(['SERVER_ERROR', 'GATEWAY_ERROR']);
/** api/qr-codes/close and api/refunds show these with status 400 and 409. */
const PASSING_DESCRIPTION = /please try again|still in progress/i;

function answerOf<Value>(status: number, text: string, schema: z.ZodType<Value>): Answer<Value> {
  const body = parseJson(text);
  if (status >= 200 && status < 300) {
    const parsed = schema.safeParse(body);
    if (parsed.success) return { kind: 'done', value: parsed.data };
    return { kind: 'unknown', detail: `status ${status} with an answer we cannot read` };
  }
  if (status === 429) return { kind: 'not_sent', detail: 'too many requests' };
  const error = errorSchema.safeParse(body);
  // A page of a proxy, a fault on their side, or a redirect says nothing about our request.
  if (status < 400 || status >= 500 || !error.success) {
    return { kind: 'unknown', detail: `status ${status}` };
  }
  const { code, description } = error.data.error;
  if (PASSING_CODES.has(code) || PASSING_DESCRIPTION.test(description)) {
    return { kind: 'unknown', detail: `${code}: ${description}` };
  }
  return { kind: 'refused', code, description };
}

/** `https://host/prefix` and `/v1/…` with its query; the base may have a path of its own. */
function urlOf(baseUrl: string, { path, query = {} }: Call): URL {
  const url = new URL(baseUrl.replace(/\/+$/, '') + path);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  return url;
}

/** The words in the paths that we call; every other segment is the id of something. */
const PATH_WORDS = new Set(
  'v1 v2 payments qr_codes close refund refunds transfers accounts disputes simulator pay'.split(
    ' ',
  ),
);

/** `/v1/payments/{id}/refund`: the same for every payment, so that lines can be counted. */
function templateOf(path: string): string {
  const segments = path
    .split('/')
    .map((word) => (word === '' || PATH_WORDS.has(word) ? word : '{id}'));
  return segments.join('/');
}

/** One line about each call: what was asked, what came of it, and how long that took. */
function logCall(
  log: CallLog,
  { method, path }: Call,
  { status, startedAtMs }: { status: number | undefined; startedAtMs: number },
  answer: Answer<unknown>,
): void {
  const durationMs = Math.round(performance.now() - startedAtMs);
  const call = { gateway: 'razorpay', method, route: templateOf(path), status, durationMs };
  if (answer.kind === 'done') log.info(call, 'gateway call');
  else log.warn({ ...call, outcome: answer.kind, reason: reasonOf(answer) }, 'gateway call failed');
}

function reasonOf(failure: Failure): string {
  if (failure.kind !== 'refused') return failure.detail;
  return `${failure.code}: ${failure.description}`;
}

/** Speaks HTTP with Razorpay: Basic auth, JSON, a time-out, and nothing repeated in secret. */
export function createRazorpayClient(options: ClientOptions): RazorpayClient {
  const { baseUrl, keyId, keySecret, timeoutMs, dispatcher, log } = options;
  const authorization = `Basic ${Buffer.from(`${keyId}:${keySecret}`).toString('base64')}`;

  async function send(call: Call): Promise<{ status: number; text: string }> {
    const { statusCode, body } = await request(urlOf(baseUrl, call), {
      method: call.method,
      headers: { authorization, 'content-type': 'application/json', ...call.headers },
      body: call.body === undefined ? null : JSON.stringify(call.body),
      signal: call.signal ?? AbortSignal.timeout(timeoutMs),
      dispatcher,
    });
    return { status: statusCode, text: await body.text() };
  }

  return {
    async call(call, schema) {
      const startedAtMs = performance.now();
      const came = await send(call).catch((error: unknown) => failureOf(error));
      const answer = 'kind' in came ? came : answerOf(came.status, came.text, schema);
      const status = 'kind' in came ? undefined : came.status;
      if (log) logCall(log, call, { status, startedAtMs }, answer);
      return answer;
    },
  };
}

/** The port's error for a call that did not work out. */
export function gatewayError(operation: string, failure: Failure): Error {
  if (failure.kind === 'refused') {
    return new GatewayRefused(operation, failure.code, failure.description);
  }
  return new GatewayUnavailable(operation, failure.detail, { cause: failure.cause });
}

/** The value of an answer. @throws GatewayUnavailable or GatewayRefused when there is none */
export function valueOf<Value>(operation: string, answer: Answer<Value>): Value {
  if (answer.kind === 'done') return answer.value;
  throw gatewayError(operation, answer);
}
