import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { createDocument } from 'zod-openapi';
import type {
  ZodOpenApiOperationObject,
  ZodOpenApiOverrideContext,
  ZodOpenApiPathsObject,
} from 'zod-openapi';
import type { Route } from '../../http/define-route.ts';
import type { WebhookDeclaration } from '../../http/define-webhook.ts';
import { payloadNameOf } from '../../http/define-webhook.ts';
import { ANY_TEXT } from '../../http/input/fields.ts';
import { BASE_PATHS } from '../../http/base-paths.ts';
import type { OperationNotes } from './openapi-responses.ts';
import { responsesOf } from './openapi-responses.ts';
import { acceptsUndefined } from '../../http/input/validation.ts';
import { forGenerators } from './for-generators.ts';

/** The input of the OpenAPI document. */
export interface OpenApiOptions {
  readonly routes: readonly Route[];
  readonly webhooks: readonly WebhookDeclaration[];
  /** The current API version. */
  readonly version: string;
  /** The versions that a request may pin. */
  readonly supportedVersions: readonly string[];
  readonly title: string;
  /** Markdown. */
  readonly description: string;
  /** Where a reader finds help. */
  readonly contact: { readonly name: string; readonly url: string };
  /** The tags of the operations, in their order. */
  readonly tags?: readonly { readonly name: string; readonly description: string }[];
  /** Examples and links by operation id. */
  readonly notes?: Readonly<Record<string, OperationNotes>>;
}

/** Documents the schema of a body that is present; `required` says whether it may be absent. */
function requestBodyOf({ body }: Route, { request: example }: OperationNotes) {
  if (!body) return {};
  const schema = body instanceof z.ZodOptional ? body.unwrap() : body;
  const required = !acceptsUndefined(body);
  const media = { schema, ...(example !== undefined && { example }) };
  return { requestBody: { required, content: { 'application/json': media } } };
}

/** A list also accepts the snake_case of its filters, which the document leaves out: generators name both alike. */
function inOneSpelling(query: z.ZodObject): z.ZodObject {
  const shape = Object.entries(query.shape).filter(([name]) => !name.includes('_'));
  return z.object(Object.fromEntries(shape));
}

function operationOf(
  route: Route,
  versionHeader: z.ZodObject,
  notes: OperationNotes,
): ZodOpenApiOperationObject {
  const { operationId, params, query, headers } = route;
  const { summary = '', description = '', tags = [] } = route;
  // OpenAPI describes Accept by the content types of the responses.
  const { Accept: _, ...ofRoute } = headers?.shape ?? {};
  const header = versionHeader.extend(ofRoute);
  return {
    operationId,
    summary,
    description,
    tags: [...tags],
    requestParams: {
      ...(params && { path: params }),
      ...(query && { query: inOneSpelling(query) }),
      header,
    },
    ...requestBodyOf(route, notes),
    ...(notes.samples && { 'x-codeSamples': notes.samples }),
    responses: responsesOf(route, notes),
  };
}

/** The optional header by which a request pins a version: one parameter of all operations. */
function versionHeaderOf(versions: readonly string[]): z.ZodObject {
  const description = `Pins a supported API version (${versions.join(', ')}); the current one if absent.`;
  const pinned = z
    .string()
    .optional()
    .meta({
      description,
      example: versions.at(-1),
      param: { id: 'X-API-Version' },
    });
  return z.object({ 'X-API-Version': pinned });
}

/** The routes by path. A path that exists in the sandbox only names the sandbox server. */
function pathsOf(
  routes: readonly Route[],
  { supportedVersions, notes = {} }: OpenApiOptions,
): ZodOpenApiPathsObject {
  const versionHeader = versionHeaderOf(supportedVersions);
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    const operation = operationOf(route, versionHeader, notes[route.operationId] ?? {});
    const servers = route.base === 'sandbox' ? { servers: [SERVERS.sandbox] } : {};
    paths[route.path] = {
      ...paths[route.path],
      ...servers,
      [route.method.toLowerCase()]: operation,
    };
  }
  return paths;
}

function webhookOf({ event, description, headers, payload, example }: WebhookDeclaration) {
  const name = payloadNameOf(event);
  // A schema with a name is also that of a response: the document must have it once.
  const schema = payload.meta()?.id === undefined ? payload.meta({ id: name }) : payload;
  const media = { schema, example };
  const post: ZodOpenApiOperationObject = {
    operationId: `on${name}`,
    summary: event,
    description,
    security: [],
    requestParams: { header: headers },
    requestBody: {
      required: true,
      content: { 'application/json': media },
    },
    responses: { '2XX': { description: 'Received. Any other status is retried.' } },
  };
  return [event, { post }] as const;
}

type SchemaInDocument = Pick<ZodOpenApiOverrideContext, 'zodSchema' | 'jsonSchema' | 'io'>;

/** Adapts a schema to what the API promises, and to what generators of clients understand. */
function adaptSchema({ zodSchema, jsonSchema, io }: SchemaInDocument): void {
  const { type } = zodSchema._zod.def;
  // Objects may get fields later without a breaking change, so no schema forbids additional ones.
  if (type === 'object') delete jsonSchema.additionalProperties;
  // The range that zod adds to integers is JavaScript's limit, not a rule of the API.
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  // Without a format, some generators make an amount a number of 32 bits. zod calls a literal integer a number.
  if (jsonSchema.type === 'number') {
    if (Number.isInteger(jsonSchema.const)) jsonSchema.type = 'integer';
    else jsonSchema.format ??= 'double';
  }
  if (io === 'output') {
    // The format of a date is sufficient.
    if (jsonSchema.format?.startsWith('date')) delete jsonSchema.pattern;
  } else if (type === 'string' && jsonSchema.format === undefined) {
    jsonSchema.pattern ??= ANY_TEXT;
  }
}

/**
 * Renders the webhooks as a separate document. zod-openapi treats a webhook body as request input;
 * here it is rendered like a response, because this service sends it.
 */
function webhooksDocument({ webhooks }: OpenApiOptions, info: { title: string; version: string }) {
  const entries = Object.fromEntries(webhooks.map(webhookOf));
  return createDocument(
    { openapi: '3.1.0', info, webhooks: entries },
    { override: (context) => adaptSchema({ ...context, io: 'output' }) },
  );
}

/** Of this repository: see package.json. */
const LICENSE = { name: 'MIT', identifier: 'MIT' };

/** The servers of both environments; their URLs are relative to the document's own. */
const SERVERS = {
  sandbox: { url: BASE_PATHS.sandbox, description: 'Sandbox: no real money moves' },
  production: { url: BASE_PATHS.production, description: 'Production: real payments' },
};

/** Merges named schemas. @throws Error if two different schemas have the same name. */
function mergeSchemas<Schema>(left: Record<string, Schema>, right: Record<string, Schema>) {
  for (const [name, schema] of Object.entries(right)) {
    if (left[name] && !isDeepStrictEqual(left[name], schema)) {
      throw new Error(`The API and the webhooks have different schemas called ${name}`);
    }
  }
  return { ...left, ...right };
}

/** @throws Error if the notes describe or link to an unknown operation. */
function assertKnownOperations(
  routes: readonly Route[],
  notes: OpenApiOptions['notes'] = {},
): void {
  const known = new Set(routes.map(({ operationId }) => operationId));
  for (const [operationId, { next = [] }] of Object.entries(notes)) {
    for (const name of [operationId, ...next.map((link) => link.operationId)]) {
      if (!known.has(name)) throw new Error(`The notes name an unknown operation: ${name}`);
    }
  }
}

/**
 * Derives the OpenAPI 3.1 document from the declarations of the merchant routes.
 *
 * @throws Error if the notes name an unknown operation, or two schemas share a name
 */
export function createOpenApiDocument(options: OpenApiOptions) {
  const { title, description, version, contact, tags = [] } = options;
  const routes = options.routes.filter((route) => route.base !== 'root');
  assertKnownOperations(routes, options.notes);
  const ofWebhooks = webhooksDocument(options, { title, version });
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: { title, description, version, contact, license: LICENSE },
      servers: [SERVERS.sandbox, SERVERS.production],
      security: [{ ApiKey: [], ApiSecret: [] }],
      tags: tags.map((tag) => ({ ...tag })),
      paths: pathsOf(routes, options),
      components: {
        securitySchemes: {
          ApiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'X-API-Key',
            description: '`mk_test_…` in the sandbox, `mk_live_…` in production',
          },
          ApiSecret: {
            type: 'apiKey',
            in: 'header',
            name: 'X-API-Secret',
            description: '`sk_test_…` in the sandbox, `sk_live_…` in production',
          },
        },
      },
    },
    { override: adaptSchema },
  );
  const schemas = mergeSchemas(
    document.components?.schemas ?? {},
    ofWebhooks.components?.schemas ?? {},
  );
  const components = { ...document.components, schemas };
  return forGenerators({
    ...document,
    webhooks: ofWebhooks.webhooks,
    components,
  }) as typeof document;
}
