import { Readable } from 'node:stream';
import type { RouterContext } from '@koa/router';
import type { Next } from 'koa';
import { DomainError } from '../domain/errors.ts';
import type { Environment } from '../domain/order.ts';
import { BASE_PATHS } from './base-paths.ts';
import { isLimited } from './define-route.ts';
import type { Reply, Route } from './define-route.ts';
import { assertContentLength, readBody, readRefusedForm } from './input/body.ts';
import {
  acceptsUndefined,
  fieldsOf,
  sanitizePathParameter,
  unknownFields,
} from './input/validation.ts';
import type { RawInput } from './input/validation.ts';
import { limitKeyOf } from './limits/client-ip.ts';
import { createDeadline } from './limits/deadline.ts';
import { assertAdmitted } from './limits/rate-limit.ts';
import type { RateLimiter } from './limits/rate-limit.ts';
import { createFileSlots, createSlots, createTurns } from './limits/slots.ts';
import type { FileSlots } from './limits/slots.ts';
import type { Limiter } from '../limiter.ts';
import { assertDocumented, assertDocumentedError } from './responses/declared-responses.ts';
import type { RequestState, RouteMiddleware } from './request-state.ts';
import { errorReply, logError } from './responses/errors.ts';
import { send } from './responses/response.ts';

/** What the middlewares of every route need. */
export interface RouteMiddlewareOptions {
  /** Whether a response that its route does not declare becomes a 500. */
  readonly checkResponses: boolean;
  /** Of the public routes without a limiter of their own. */
  readonly publicRateLimiter: RateLimiter;
  readonly now: () => Date;
  readonly responseTimeoutMs?: number | undefined;
}

/** A form with a file takes up to 20 MB while it is read, checked and encrypted. */
const UPLOADS = { ofOne: 2, ofAll: 10 };

type RouteContext = RouterContext<RequestState>;

/** Names the route for log, metrics and trace. */
export function describe(
  state: RequestState,
  { operationId, path, isHealthCheck }: Route,
  environment: Environment | undefined,
): void {
  state.operationId = operationId;
  state.route = (environment ? BASE_PATHS[environment] : '') + path;
  state.isHealthCheck = isHealthCheck ?? false;
}

/** The declared headers, under their declared names; Node has them in lower case. */
function pickHeaders({ req }: RouteContext, { headers }: Route): Record<string, unknown> {
  const sent = (headers ? fieldsOf(headers) : []).map(
    (name) => [name, req.headers[name.toLowerCase()]] as const,
  );
  return Object.fromEntries(sent.filter(([, value]) => value !== undefined));
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
  return { input: { ...input, ...ctx.state.version?.upgrade(route.operationId, input) }, rawBody };
}

const callerOf = ({ state: { environment, merchant, clientIp } }: RouteContext) => ({
  environment,
  merchant,
  clientIp,
});

const beginRoute =
  (route: Route, environment: Environment | undefined): RouteMiddleware =>
  async ({ state }, next) => {
    describe(state, route, environment);
    const { responseTimeoutMs } = route;
    if (responseTimeoutMs !== undefined) state.within = createDeadline(responseTimeoutMs);
    await next();
  };

/** Sends the reply of the later middlewares, or that of their error. */
const answer =
  (route: Route, options: RouteMiddlewareOptions): RouteMiddleware =>
  async (ctx, next) => {
    const reply = await replyOf(ctx, next, route, options);
    const downgraded = ctx.state.version?.downgrade(route.operationId, reply);
    send(ctx, { ...reply, ...downgraded }, reply.contentType);
  };

/** Whether a request has taken effect, and is none of the sandbox's helpers. */
const isWork = ({ base, method }: Route, { status }: Reply) =>
  base === 'merchant' && method === 'POST' && status < 300;

async function replyOf(
  ctx: RouteContext,
  next: Next,
  route: Route,
  { checkResponses, now }: RouteMiddlewareOptions,
): Promise<Reply> {
  const { state } = ctx;
  try {
    await next();
    const { reply } = state;
    if (!reply) throw new Error(`${route.operationId} has no reply`);
    if (checkResponses) assertDocumented(route, reply);
    if (isWork(route, reply)) await state.merchant?.afterWork?.();
    const contentType = reply.contentType ?? route.responses[reply.status]?.contentType;
    return { ...reply, contentType };
  } catch (error) {
    logError(state.log, error);
    const refusal = errorReply(error, now());
    if (checkResponses) assertDocumentedError(route, refusal.status);
    const page = route.refusalPage?.(refusal, state.requestId, {
      query: { ...ctx.query },
      headers: pickHeaders(ctx, route),
      path: ctx.path,
      body: route.body && (await readRefusedForm(ctx.req, route.bodyType ?? 'json')),
    });
    return { ...refusal, ...page, headers: { ...refusal.headers, ...page?.headers } };
  }
}

/** Counts a request against the limit of a public route; the merchant API has one for all of its routes. */
const limitPublicRate =
  (limiter: RateLimiter): RouteMiddleware =>
  async ({ state: { clientIp } }, next) => {
    await assertAdmitted(limiter, clientIp);
    await next();
  };

const limitUploads =
  (uploads: Limiter): RouteMiddleware =>
  ({ state }, next) =>
    uploads.run(limitKeyOf(state.clientIp), next);

const answerBeforeBody =
  (route: Route, beforeBody: NonNullable<Route['beforeBody']>): RouteMiddleware =>
  async (ctx, next) => {
    const { state } = ctx;
    const early = await state.within(() => beforeBody(pickHeaders(ctx, route), callerOf(ctx)));
    if (early) state.reply = early;
    else await next();
  };

/** Runs the handler of a route: at once, in its turn, or in a slot of the route's own. */
type Run = (work: () => Promise<Reply>, state: RequestState) => Promise<Reply>;

/** Set before the handler runs, so that a refusal for a missing field shows the misspelled one, too. */
function nameUnknownFields(ctx: RouteContext, route: Route, input: RawInput): void {
  if (ctx.state.environment !== 'sandbox') return;
  const names = unknownFields(route, input);
  if (names !== undefined) ctx.set('X-Unknown-Fields', names);
}

/** Reads the input, and calls the handler, which validates it. */
const handle =
  (route: Route, run: Run, files: FileSlots): RouteMiddleware =>
  async (ctx) => {
    const { state } = ctx;
    const { requestId, log } = state;
    const { input, rawBody } = await readInput(ctx, route);
    nameUnknownFields(ctx, route, input);
    const work = () => {
      // The client left while its request waited for its turn: its work would only delay that of others.
      if (ctx.res.destroyed) throw new DomainError('BAD_REQUEST', 'The client has gone');
      return route.handle(input, { ...callerOf(ctx), requestId, log, rawBody });
    };
    const reply = await state.within(() => run(work, state));
    if (state.merchant && reply.body instanceof Readable) {
      files.take(state.merchant.id, reply.body);
    }
    state.reply = reply;
  };

/** Creates the function that says how a route's handler runs. */
function createRuns({ responseTimeoutMs }: RouteMiddlewareOptions) {
  const { changes, reads, pages } = createTurns(responseTimeoutMs);
  return (route: Route, environment: Environment | undefined): Run => {
    const { slots, method, base, rateLimiter } = route;
    if (!environment) {
      if (!rateLimiter) return (work) => work();
      return (work, { clientIp }) => pages.run(limitKeyOf(clientIp), work);
    }
    const idOf = ({ merchant }: RequestState) => merchant?.id ?? '';
    const turns = (method === 'GET' ? reads : changes)[environment];
    const inTurn: Run = (work, state) => turns.run(idOf(state), work);
    if (!slots) return inTurn;
    return (work, state) =>
      slots[environment].run(idOf(state), () =>
        // The helpers pay at the gateway's simulator, which takes time of the same machine.
        base === 'sandbox' ? inTurn(work, state) : work(),
      );
  };
}

/** Creates the function that lists the middlewares of a route in one environment. */
export function createRouteMiddlewares(options: RouteMiddlewareOptions) {
  const uploads = createSlots(UPLOADS, 'Too many files are uploaded at the same time: try again');
  const files = createFileSlots();
  const runOf = createRuns(options);
  return (route: Route, environment: Environment | undefined): RouteMiddleware[] => {
    const { bodyType, beforeBody } = route;
    const rateLimiter = isLimited(route)
      ? (route.rateLimiter ?? options.publicRateLimiter)
      : undefined;
    return [
      beginRoute(route, environment),
      answer(route, options),
      ...(rateLimiter ? [limitPublicRate(rateLimiter)] : []),
      ...(bodyType === 'multipart' ? [limitUploads(uploads)] : []),
      ...(beforeBody ? [answerBeforeBody(route, beforeBody)] : []),
      handle(route, runOf(route, environment), files),
    ];
  };
}
