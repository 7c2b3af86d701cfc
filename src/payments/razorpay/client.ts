import { request } from 'undici';
import type { Dispatcher } from 'undici';
import type { z } from 'zod';
import { inClientSpan } from '../../tracing/spans.ts';
import type { CallLog, GatewayOptions } from '../gateway/adapter.ts';
import { GatewayNotUnderstood, GatewayRefused, GatewayUnavailable } from '../gateway/gateway.ts';
import { redacted } from '../gateway/redaction.ts';
import { errorSchema } from './schemas.ts';

/** The result of an HTTP call: what it says about the requested operation. */
export type Answer<Value> =
  | { kind: 'done'; value: Value }
  /** Razorpay refused: the operation was not done, and a repeat would be refused, too. */
  | { kind: 'refused'; code: string; description: string }
  /** The request did not reach Razorpay, or its rate limit rejected it: nothing was done. */
  | { kind: 'not_sent'; detail: string; cause?: unknown }
  /** The operation may have been done. `isNotUnderstood`: the answer has no known form. */
  | { kind: 'unknown'; detail: string; cause?: unknown; isNotUnderstood?: true };

type Failure = Exclude<Answer<never>, { kind: 'done' }>;

/** One HTTP request to Razorpay's API or the gateway simulator. */
export interface Call {
  method: 'GET' | 'POST' | 'PATCH';
  path: string;
  query?: Readonly<Record<string, string | number>>;
  body?: Readonly<Record<string, unknown>>;
  headers?: Readonly<Record<string, string>>;
  /** Aborts the call. An operation of several calls shares one signal. Default: the client's time-out. */
  signal?: AbortSignal;
}

export interface RazorpayClient {
  /** Never throws. A response that does not match the schema is `unknown`. */
  call<Value>(call: Call, schema: z.ZodType<Value>): Promise<Answer<Value>>;
  /** Reports an item of a list that is left out because its form is unknown. */
  readonly onNotUnderstood: GatewayOptions['onNotUnderstood'];
}

export interface ClientOptions extends Partial<GatewayOptions> {
  /** `https://api.razorpay.com`, or the simulator's address. */
  baseUrl: string;
  keyId: string;
  keySecret: string;
  timeoutMs: number;
  dispatcher: Dispatcher;
}

const GATEWAY = 'razorpay';

/** The connection failed: no part of the request was sent. */
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

/** The number of characters of a body that an alert shows. */
const MOST_SHOWN = 2000;

/** Razorpay's and its banks' codes of temporary failures, which come with any HTTP status. */
const TRANSIENT_CODES = new Set(['SERVER_ERROR', 'GATEWAY_ERROR']);
/**
 * Temporary failures that the documents show with status 400 (api/qr-codes/close) and with 409
 * (api/refunds/normal-refunds-idempotent). They show no others for the calls of this adapter.
 */
const TRANSIENT_DESCRIPTION = /please try again|still in progress/i;

/** What is reported of a body of unknown form: where it differs, and what it is without personal data. */
export function unknownForm(body: unknown, { issues }: z.ZodError): Error {
  const differences = issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  const shown = JSON.stringify(redacted(body)) ?? 'no JSON';
  return new Error(`${differences.join('; ')}: ${shown.slice(0, MOST_SHOWN)}`);
}

function answerOf<Value>(status: number, text: string, schema: z.ZodType<Value>): Answer<Value> {
  const body = parseJson(text);
  if (status >= 200 && status < 300) {
    const parsed = schema.safeParse(body);
    if (parsed.success) return { kind: 'done', value: parsed.data };
    const detail = `status ${status} with an unexpected body`;
    return {
      kind: 'unknown',
      detail,
      cause: unknownForm(body, parsed.error),
      isNotUnderstood: true,
    };
  }
  if (status === 429) return { kind: 'not_sent', detail: 'too many requests' };
  const error = errorSchema.safeParse(body);
  // A proxy's page, a server error or a redirect does not tell the outcome of the request.
  if (status < 400 || status >= 500 || !error.success) {
    return { kind: 'unknown', detail: `status ${status}` };
  }
  const { code, description } = error.data.error;
  if (TRANSIENT_CODES.has(code) || TRANSIENT_DESCRIPTION.test(description)) {
    return { kind: 'unknown', detail: `${code}: ${description}` };
  }
  return { kind: 'refused', code, description };
}

/** Joins `https://host/prefix` and `/v1/…`, and adds the query. */
function urlOf(baseUrl: string, { path, query = {} }: Call): URL {
  const url = new URL(baseUrl.replace(/\/$/, '') + path);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  return url;
}

/** The fixed segments of the paths in use; every other segment is an id. */
const FIXED_SEGMENTS = new Set(
  'v1 v2 beta payments qr_codes close refund refunds transfers reversals accounts disputes simulator pay'.split(
    ' ',
  ),
);

/** `/v1/payments/{id}/refund`: the same for every payment, so that log lines can be counted. */
function templateOf(path: string): string {
  const segments = path
    .split('/')
    .map((segment) => (segment === '' || FIXED_SEGMENTS.has(segment) ? segment : '{id}'));
  return segments.join('/');
}

/** Logs one line for each call: the request, the outcome and the duration. */
function logCall(
  log: CallLog,
  { method, path }: Call,
  { status, startedAtMs }: { status: number | undefined; startedAtMs: number },
  answer: Answer<unknown>,
): void {
  const durationMs = Math.round(performance.now() - startedAtMs);
  const call = { gateway: GATEWAY, method, route: templateOf(path), status, durationMs };
  if (answer.kind === 'done') log.info(call, 'gateway call');
  else log.warn({ ...call, outcome: answer.kind, reason: reasonOf(answer) }, 'gateway call failed');
}

function reasonOf(failure: Failure): string {
  if (failure.kind !== 'refused') return failure.detail;
  return `${failure.code}: ${failure.description}`;
}

function exchangeOf(call: Call, answered: { status: number; text: string } | undefined) {
  const { method, path, query = {}, body = null } = call;
  const answer = answered === undefined ? null : (parseJson(answered.text) ?? null);
  return { method, path, query, request: body, status: answered?.status ?? null, answer };
}

/** Makes HTTP calls to Razorpay with Basic auth, JSON and a time-out, without retries. */
export function createRazorpayClient(options: ClientOptions): RazorpayClient {
  const { baseUrl, keyId, keySecret, timeoutMs, dispatcher, log } = options;
  const { onNotUnderstood = async () => undefined, onAnswer } = options;
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

  async function exchange<Value>(
    call: Call,
    schema: z.ZodType<Value>,
  ): Promise<{ answer: Answer<Value>; status: number | undefined }> {
    const startedAtMs = performance.now();
    const result = await send(call).catch((error: unknown) => failureOf(error));
    const answer = 'kind' in result ? result : answerOf(result.status, result.text, schema);
    const status = 'kind' in result ? undefined : result.status;
    onAnswer?.(exchangeOf(call, 'kind' in result ? undefined : result));
    if (log) logCall(log, call, { status, startedAtMs }, answer);
    return { answer, status };
  }

  return {
    onNotUnderstood,

    async call(call, schema) {
      const operation = `${call.method} ${templateOf(call.path)}`;
      const attributes = { gateway: GATEWAY, 'gateway.operation': operation };
      const { answer } = await inClientSpan(
        `${GATEWAY} ${operation}`,
        attributes,
        () => exchange(call, schema),
        ({ answer: { kind }, status }) => ({
          isError: kind !== 'done',
          attributes: { outcome: kind, 'http.response.status_code': status },
        }),
      );
      return answer;
    },
  };
}

export function gatewayError(operation: string, failure: Failure): Error {
  if (failure.kind === 'refused') {
    return new GatewayRefused(operation, failure.code, failure.description);
  }
  const { detail, cause } = failure;
  const isNotUnderstood = failure.kind === 'unknown' && failure.isNotUnderstood;
  return new (isNotUnderstood ? GatewayNotUnderstood : GatewayUnavailable)(operation, detail, {
    cause,
  });
}

/** The value of an answer. @throws GatewayUnavailable or GatewayRefused if the call failed */
export function valueOf<Value>(operation: string, answer: Answer<Value>): Value {
  if (answer.kind === 'done') return answer.value;
  throw gatewayError(operation, answer);
}
