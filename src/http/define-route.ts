import type { Logger } from 'pino';
import { z } from 'zod';
import type { ErrorCode } from '../domain/errors.ts';
import type { Environment } from '../domain/order.ts';
import type { BodyType } from './body.ts';
import { ValidationError } from './errors.ts';
import type { ErrorReply } from './errors.ts';
import type { RateLimiter } from './rate-limit.ts';
import { checkPart } from './validation.ts';

/** Who may call a route: merchants by their two credential headers, or everyone. */
export type Caller = 'merchant' | 'public';

/** Under which addresses a route exists; only `root` routes are public. */
export type Base = 'merchant' | 'sandbox' | 'root';

/** The merchant that the credentials of a request belong to. */
export interface Merchant {
  readonly id: string;
  readonly name: string;
}

type ObjectSchema = z.ZodObject;
type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

/** One documented answer of a route. `headers` are those beyond the ones that every answer has. */
export interface ResponseDeclaration {
  readonly description: string;
  readonly schema: z.ZodType;
  readonly headers?: ObjectSchema;
  /** `application/json` if absent; anything else is sent as the text or bytes that it is. */
  readonly contentType?: string;
}

/** What every request brings, whatever its route declares. */
export interface RequestContext {
  readonly environment: Environment | undefined;
  readonly merchant: Merchant | undefined;
  readonly requestId: string;
  readonly log: Logger;
  /** The bytes of the body as they came, for signatures. */
  readonly rawBody: Buffer | undefined;
}

/** The unparsed input of a request, as the HTTP layer hands it to a route. */
export interface RawInput {
  readonly params: unknown;
  readonly query: unknown;
  readonly headers: unknown;
  readonly body: unknown;
}

/** What a handler gets: everything parsed and typed by the route's own schemas. */
export interface RouteRequest<C extends Caller, P, Q, H, B> {
  readonly params: Parsed<P>;
  readonly query: Parsed<Q>;
  readonly headers: Parsed<H>;
  readonly body: Parsed<B>;
  readonly environment: C extends 'merchant' ? Environment : undefined;
  readonly merchant: C extends 'merchant' ? Merchant : undefined;
  readonly requestId: string;
  readonly log: Logger;
  readonly rawBody: Buffer | undefined;
}

/** What goes on the wire. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** What a person sees instead of a JSON body. */
export interface Page {
  readonly contentType: 'text/html';
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

type HeadersOf<D> = D extends { headers: infer H extends ObjectSchema }
  ? { readonly headers: z.input<H> }
  : { readonly headers?: Readonly<Record<string, string>> };

type ReplyOf<R extends Record<number, ResponseDeclaration>> = {
  [S in keyof R & number]: {
    readonly status: S;
    readonly body: z.input<R[S]['schema']>;
  } & HeadersOf<R[S]>;
}[keyof R & number];

/** The part of a declaration that does not depend on its schemas. */
interface RouteFacts {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the base, with parameters in braces: `/orders/{id}`. */
  readonly path: `/${string}`;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** The refusals of this route beyond those that every route of its kind can answer with. */
  readonly errors?: readonly ErrorCode[];
  /** `json` if absent. */
  readonly bodyType?: BodyType;
  /** A limit of its own for a public route; merchant routes share the one of their base paths. */
  readonly rateLimiter?: RateLimiter;
  /** How long our own work on a request may take before the answer is 500; 4.5 s if absent. */
  readonly responseTimeoutMs?: number;
  /** Asked every few seconds by machines: its log lines are of interest only when it fails. */
  readonly isHealthCheck?: true;
  /** Shows refusals to people, as a page instead of the JSON body. */
  readonly refusalPage?: (refusal: ErrorReply, requestId: string) => Page;
}

/** One declaration: validation, documentation and the check of its answers all come from it. */
export interface RouteDeclaration<
  C extends Caller,
  R extends Record<number, ResponseDeclaration>,
  P,
  Q,
  H,
  B,
> extends RouteFacts {
  readonly caller: C;
  readonly base: C extends 'merchant' ? 'merchant' | 'sandbox' : 'root';
  readonly params?: P;
  readonly query?: Q;
  readonly headers?: H;
  /** `.optional()` also accepts no body and no Content-Type, as a POST without a schema does. */
  readonly body?: B;
  readonly responses: R;
}

/** A route as the application and the OpenAPI document see it. */
export interface Route extends RouteFacts {
  readonly caller: Caller;
  readonly base: Base;
  readonly params: ObjectSchema | undefined;
  readonly query: ObjectSchema | undefined;
  readonly headers: ObjectSchema | undefined;
  readonly body: z.ZodType | undefined;
  readonly responses: Readonly<Record<number, ResponseDeclaration>>;
  /** @throws ValidationError with every violation of every part of the input. */
  answer(input: RawInput, context: RequestContext): Promise<Reply>;
}

type Schemas = Pick<Route, 'params' | 'query' | 'headers' | 'body'>;

/** @throws ValidationError */
function parseInput(schemas: Schemas, input: RawInput): RawInput {
  const violations = new Map<string, string>();
  const check = (part: keyof RawInput) => {
    const schema = schemas[part];
    return schema && checkPart(schema, input[part], violations);
  };
  const parsed = {
    params: check('params'),
    query: check('query'),
    headers: check('headers'),
    body: check('body'),
  };
  if (violations.size > 0) throw new ValidationError(Object.fromEntries(violations));
  return parsed;
}

/** A mistake in a declaration must stop the start, not surprise a caller. */
function assertParamsMatchPath(path: string, params: ObjectSchema | undefined): void {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '').sort();
  const declared = Object.keys(params?.shape ?? {}).sort();
  if (inPath.join() !== declared.join()) {
    throw new Error(`${path}: its params schema declares [${declared.join()}]`);
  }
}

/** A POST that needs no body may have one, and then it is held to the same rules as any other. */
const OPTIONAL_BODY = z.object({}).optional();

/** The second half of a declaration: with its own call, so that every literal type is known in it. */
interface DeclaredRoute<
  C extends Caller,
  R extends Record<number, ResponseDeclaration>,
  P,
  Q,
  H,
  B,
> {
  handledBy(handler: (request: RouteRequest<C, P, Q, H, B>) => Promise<ReplyOf<R>>): Route;
}

/**
 * Declares a route. The types of its handler's request and reply follow from the schemas.
 *
 * @throws Error if the params schema does not name exactly the parameters of the path.
 */
export function defineRoute<
  C extends Caller,
  R extends Record<number, ResponseDeclaration>,
  P extends ObjectSchema | undefined = undefined,
  Q extends ObjectSchema | undefined = undefined,
  H extends ObjectSchema | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(route: RouteDeclaration<C, R, P, Q, H, B>): DeclaredRoute<C, R, P, Q, H, B> {
  assertParamsMatchPath(route.path, route.params);
  const { params, query, headers } = route;
  const body = route.body ?? (route.method === 'POST' ? OPTIONAL_BODY : undefined);
  const schemas: Schemas = { params, query, headers, body };
  return {
    handledBy: (handler) => ({
      ...route,
      ...schemas,
      answer: async (input, context) => {
        // The schemas that check the input are the ones that these types were inferred from.
        const request = { ...context, ...parseInput(schemas, input) };
        return handler(request as RouteRequest<C, P, Q, H, B>);
      },
    }),
  };
}
