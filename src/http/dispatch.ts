import type { RouterContext } from '@koa/router';
import type { Logger } from 'pino';
import type { Environment } from '../domain/order.ts';
import { assertAdmitted } from './limits/admission.ts';
import { readBody, assertContentLength } from './input/body.ts';
import { assertDocumented, assertDocumentedError } from './openapi/check-response.ts';
import type { ClientIp } from './limits/client-ip.ts';
import { limitKeyOf } from './limits/client-ip.ts';
import { createDeadline } from './limits/deadline.ts';
import type { Deadline } from './limits/deadline.ts';
import type { RawInput, Reply, Route, RouteCaller } from './define-route.ts';
import { errorReply, logError } from './responses/errors.ts';
import { BASE_PATHS } from './merchant-gate.ts';
import type { MerchantGate } from './merchant-gate.ts';
import { addRequestFields } from './request-context.ts';
import { send } from './responses/send.ts';
import { createSlots } from './limits/slots.ts';
import { createTurns } from './limits/turns.ts';
import type { Turns } from './limits/turns.ts';
import { acceptsUndefined, fieldsOf, sanitizePathParameter } from './input/validation.ts';
import type { NegotiatedVersion } from './versions.ts';

/** The dependencies of the dispatcher. */
export interface DispatchOptions {
  readonly gate: MerchantGate;
  readonly clientIp: ClientIp;
  readonly checkResponses: boolean;
  /** Replaces the contract's 5 s, unless the route has its own limit. */
  readonly responseTimeoutMs: number | undefined;
  readonly now: () => Date;
}

/** Koa's `ctx.state` of one request. */
export interface RequestState {
  requestId: string;
  log: Logger;
  operationId?: string;
  /** The declared path. The path of the request can contain a buyer's token and is never logged. */
  route?: string;
  isHealthCheck?: boolean;
  environment?: Environment | undefined;
}

/** The Koa context of a matched route. */
export type RouteContext = RouterContext<RequestState>;

/** The declared headers, under their declared names; Node has them in lower case. */
function pickHeaders(ctx: RouteContext, route: Route): Record<string, unknown> {
  const names = route.headers ? fieldsOf(route.headers) : [];
  return Object.fromEntries(
    names
      .map((name) => [name, ctx.req.headers[name.toLowerCase()]])
      .filter(([, value]) => value !== undefined),
  );
}

async function readInput(ctx: RouteContext, route: Route) {
  const bodyType = route.bodyType ?? 'json';
  assertContentLength(ctx.req, bodyType);
  const { rawBody, body } = route.body
    ? await readBody(ctx.req, bodyType, acceptsUndefined(route.body))
    : { rawBody: undefined, body: undefined };
  const params = Object.entries(ctx.params).map(([name, text]) => [
    name,
    sanitizePathParameter(text),
  ]);
  const input: RawInput = {
    params: Object.fromEntries(params),
    query: { ...ctx.query },
    headers: pickHeaders(ctx, route),
    body,
  };
  return { input, rawBody };
}

/** A form with a file takes up to 20 MB while it is read, checked and encrypted. */
const UPLOADS = { ofOne: 2, ofAll: 10 };

/** With what a route is run: the caller, the API version and the deadline of the response. */
interface RouteRun {
  caller: RouteCaller;
  /** Undefined outside the versioned API. */
  version: NegotiatedVersion | undefined;
  within: Deadline;
  /** Absent for work that need not wait for a turn. */
  turns: Turns | undefined;
}

async function runRoute(
  ctx: RouteContext,
  route: Route,
  { caller, version, within, turns }: RouteRun,
): Promise<Reply> {
  const { beforeBody } = route;
  const early = beforeBody && (await within(() => beforeBody(pickHeaders(ctx, route), caller)));
  if (early) return early;
  const { input, rawBody } = await readInput(ctx, route);
  const upgraded = version?.upgrade(route.operationId, input);
  const { requestId, log } = ctx.state;
  const context = { ...caller, requestId, log, rawBody };
  const handle = () => route.handle({ ...input, ...upgraded }, context);
  return within((mayBegin) =>
    turns ? turns(handle, () => mayBegin() && !ctx.res.destroyed) : handle(),
  );
}

/**
 * Creates the function that makes the middleware of a route in one environment: authentication and
 * version (merchant routes), rate limit, validation, handler, errors.
 */
export function createDispatch({
  gate,
  clientIp,
  checkResponses,
  responseTimeoutMs,
  now,
}: DispatchOptions) {
  const uploads = createSlots(UPLOADS, 'Too many files are uploaded at the same time: try again');
  const turnsOf = createTurns();

  async function respond(
    ctx: RouteContext,
    route: Route,
    run: () => Promise<Reply>,
  ): Promise<Reply> {
    try {
      const { log } = ctx.state;
      if (route.rateLimiter) await assertAdmitted(route.rateLimiter, clientIp(ctx.req), log);
      const reply = await run();
      if (checkResponses) assertDocumented(route, reply);
      const contentType = reply.contentType ?? route.responses[reply.status]?.contentType;
      return { ...reply, contentType };
    } catch (error) {
      logError(ctx.state.log, error);
      const refusal = errorReply(error, now());
      if (checkResponses) assertDocumentedError(route, refusal.status);
      return { ...refusal, ...route.refusalPage?.(refusal, ctx.state.requestId) };
    }
  }

  return (route: Route, environment: Environment | undefined) => async (ctx: RouteContext) => {
    const turns = environment && route.method !== 'GET' ? turnsOf(environment) : undefined;
    Object.assign(ctx.state, {
      operationId: route.operationId,
      route: (environment ? BASE_PATHS[environment] : '') + route.path,
      isHealthCheck: route.isHealthCheck ?? false,
      environment,
    });
    const within = createDeadline(route.responseTimeoutMs ?? responseTimeoutMs);
    const entry = environment && (await within(() => gate(ctx.req, environment, ctx.state.log)));
    ctx.set(entry?.version.headers ?? {});
    if (entry) addRequestFields({ merchantId: entry.merchant.id });
    const caller = { environment, merchant: entry?.merchant, clientIp: clientIp(ctx.req) };
    const isUpload = route.bodyType === 'multipart';
    const reply = await respond(ctx, route, async () => {
      const release = isUpload ? uploads.take(limitKeyOf(caller.clientIp)) : undefined;
      try {
        return await runRoute(ctx, route, { caller, version: entry?.version, within, turns });
      } finally {
        release?.();
      }
    });
    const downgraded = entry?.version.downgrade(route.operationId, reply);
    send(ctx, { ...reply, ...downgraded }, reply.contentType);
  };
}
