import type { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { ErrorCode } from '../domain/errors.ts';
import type { Environment } from '../domain/order.ts';
import type { BodyType } from './input/body.ts';
import type { ErrorReply } from './responses/errors.ts';
import type { RateLimiter } from './limits/rate-limit.ts';
import type { LimiterByEnvironment } from './limits/slots.ts';
import { parseInput } from './input/validation.ts';
import type { RawInput } from './input/validation.ts';

/**
 * The base paths under which a route exists. Everyone may call `root` routes; the others are for merchants,
 * with their two credential headers.
 */
export type Base = 'merchant' | 'sandbox' | 'root';

/** The merchant that the credentials of a request belong to. */
export interface Merchant {
  readonly id: string;
  readonly name: string;
  /** The key of the request, which names the caller; it is no secret. */
  readonly apiKey: string;
}

/** A merchant as its credentials were checked. */
export interface AuthenticatedMerchant extends Merchant {
  /** Whether it can take payments in the environment of the request. */
  readonly isReady: boolean;
  /** The sandbox's `fail-after-work`: called after a POST has taken effect; an error that it throws is the answer. */
  readonly afterWork?: () => Promise<void>;
}

export type ObjectSchema = z.ZodObject;
/** What a schema makes of the input; undefined without one. */
export type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

/** One documented response of a route. `headers` are those beyond the common response headers. */
export interface ResponseDeclaration {
  readonly description: string;
  readonly schema: z.ZodType;
  readonly headers?: ObjectSchema;
  /** What a request can have with its `Accept` in the place of JSON: sent unchanged, as a stream. */
  readonly alsoAs?: 'text/csv';
  /** `application/json` if absent; any other body is sent unchanged, as text, bytes or a stream. */
  readonly contentType?: string;
}

/** What every handler gets, whatever its route declares. */
export interface RequestContext {
  readonly environment: Environment | undefined;
  readonly merchant: Merchant | undefined;
  readonly requestId: string;
  /** The address of the client: see src/http/limits/client-ip.ts. */
  readonly clientIp: string;
  readonly log: Logger;
  /** The unparsed body, for signature checks. */
  readonly rawBody: Buffer | undefined;
}

/** Whose request a route answers. */
export interface RouteCaller extends Pick<RequestContext, 'environment' | 'clientIp'> {
  readonly merchant: AuthenticatedMerchant | undefined;
}

/** A refused request: of a form, `body` has the fields that have arrived. */
export interface RefusedInput extends Pick<RawInput, 'query' | 'headers' | 'body'> {
  readonly path: string;
}

/** What a handler gets: the input, parsed and typed by the route's schemas, and the context. */
interface RouteRequest<In extends Base, P, Q, H, B> extends RequestContext {
  readonly params: Parsed<P>;
  readonly query: Parsed<Q>;
  readonly headers: Parsed<H>;
  readonly body: Parsed<B>;
  readonly environment: In extends 'root' ? undefined : Environment;
  readonly merchant: In extends 'root' ? undefined : Merchant;
}

/** A response before serialisation. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Replaces the one of the declaration, where a route sends pages and files. */
  readonly contentType?: string | undefined;
}

/** An HTML page, sent to browsers instead of a JSON error body. */
export interface Page {
  readonly contentType: 'text/html';
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

type HeadersOf<D> = D extends { headers: infer H extends ObjectSchema }
  ? { readonly headers: z.input<H> }
  : { readonly headers?: Readonly<Record<string, string>> };

type Responses = Readonly<Record<number, ResponseDeclaration>>;

/** A declared reply, also in the other form of its response. */
type ReplyOf<R extends Responses> = {
  [S in keyof R & number]:
    | ({
        readonly status: S;
        readonly body: z.input<R[S]['schema']>;
        readonly contentType?: string;
      } & HeadersOf<R[S]>)
    | (R[S] extends { alsoAs: infer Type extends string }
        ? { readonly status: S; readonly body: Readable; readonly contentType: Type }
        : never);
}[keyof R & number];

/** What the OpenAPI document says of an operation. */
interface OperationTexts {
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
}

/** Only routes of merchants have texts, because the document has no others. */
type TextsOf<In extends Base> = In extends 'root' ? unknown : OperationTexts;

/** Declares a route. Validation, OpenAPI and the response check in tests are derived from it. */
interface RouteDeclaration<
  In extends Base = Base,
  R extends Responses = Responses,
  P = ObjectSchema | undefined,
  Q = ObjectSchema | undefined,
  H = ObjectSchema | undefined,
  B = z.ZodType | undefined,
> {
  readonly base: In;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the base, with parameters in braces: `/orders/{id}`. */
  readonly path: `/${string}`;
  readonly operationId: string;
  /** The errors of this route beyond those that every route of its kind can return. */
  readonly errors?: readonly ErrorCode[];
  /** `json` if absent. */
  readonly bodyType?: BodyType;
  /** The rate limit of a public route; without one it has that of all public paths. Merchant routes share the limit of their base paths. */
  readonly rateLimiter?: RateLimiter;
  /** A callback of a gateway: its signature and its slots bound it, and no rate limit. */
  readonly isCallback?: true;
  /** How long the service may work on a request before it answers 500; 4500 ms if absent. */
  readonly responseTimeoutMs?: number;
  /** Probed every few seconds: successful requests are logged at level debug. */
  readonly isHealthCheck?: true;
  /** Renders errors as an HTML page instead of the JSON body. The input is as it was sent. */
  readonly refusalPage?: (refusal: ErrorReply, requestId: string, input: RefusedInput) => Page;
  /**
   * Decides by the declared headers and the caller whether a request gets an answer before its body is
   * read: a body of 5 MB costs more than a stranger may cause.
   *
   * @returns undefined if the body is to be read
   * @throws DomainError one of the declared errors
   */
  readonly beforeBody?: (
    headers: Readonly<Record<string, unknown>>,
    caller: RouteCaller,
  ) => Promise<Reply | undefined>;
  /** For a handler that waits for another service: it runs in one of the merchant's slots, and takes no turn. */
  readonly slots?: In extends 'root' ? never : LimiterByEnvironment;
  readonly params?: P;
  readonly query?: Q;
  readonly headers?: H;
  /** With `.optional()` the body and the Content-Type may be absent. */
  readonly body?: B;
  readonly responses: R;
}

/** Whether an address may call a route only so often in a second; merchant routes are limited by base path. */
export function isLimited({ base, isHealthCheck, isCallback }: Route): boolean {
  return base === 'root' && !isHealthCheck && !isCallback;
}

/** A route as the application and the OpenAPI document see it. */
export interface Route extends RouteDeclaration, Partial<OperationTexts> {
  /**
   * Validates the input and calls the handler.
   *
   * @throws ValidationError with every violation of every part of the input.
   */
  handle(input: RawInput, context: RequestContext): Promise<Reply>;
}

/** Fails at start-up, so that a wrong declaration never reaches a client. */
function assertParamsMatchPath(path: string, params: ObjectSchema | undefined): void {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '').sort();
  const declared = Object.keys(params?.shape ?? {}).sort();
  if (inPath.join() !== declared.join()) {
    throw new Error(`${path}: its params schema declares [${declared.join()}]`);
  }
}

/** A POST without a body schema may have a body; it must then be a valid JSON object. */
const OPTIONAL_BODY = z.object({}).optional();

/**
 * Declares a route. TypeScript infers the handler's request and reply types from the schemas: a separate call for the
 * handler lets it infer the literal types first.
 *
 * @throws Error if the parameters of the path and of the params schema differ.
 */
export function defineRoute<
  In extends Base,
  R extends Responses,
  P extends ObjectSchema | undefined = undefined,
  Q extends ObjectSchema | undefined = undefined,
  H extends ObjectSchema | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
>(route: RouteDeclaration<In, R, P, Q, H, B> & TextsOf<In>) {
  type Request = RouteRequest<In, P, Q, H, B>;
  assertParamsMatchPath(route.path, route.params);
  const { params, query, headers } = route;
  const body = route.body ?? (route.method === 'POST' ? OPTIONAL_BODY : undefined);
  const schemas = { params, query, headers, body };
  // The casts are safe: the types were inferred from the schemas that validate the input.
  return {
    handledBy: (handler: (request: Request) => Promise<ReplyOf<R>>): Route => ({
      ...route,
      ...schemas,
      handle: async (input, context) =>
        handler({ ...context, ...parseInput(schemas, input) } as Request),
    }),
    /**
     * For a handler that checks who asks before it validates the input, so that refused input tells a
     * stranger nothing.
     *
     * @param handler gets what was sent, and a function that validates it
     */
    handledUnvalidated: (
      handler: (
        request: RequestContext & { readonly sent: RawInput },
        validate: () => Pick<Request, keyof RawInput>,
      ) => Promise<ReplyOf<R>>,
    ): Route => ({
      ...route,
      ...schemas,
      handle: async (sent, context) =>
        handler({ ...context, sent }, () => parseInput(schemas, sent) as Request),
    }),
  };
}
