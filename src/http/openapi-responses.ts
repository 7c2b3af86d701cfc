import { z } from 'zod';
import type { ZodOpenApiLinksObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import type { ErrorCode } from '../domain/errors.ts';
import { errorsOf } from './common-errors.ts';
import type { Route } from './define-route.ts';
import { rateLimitErrorSchema, standardErrorSchema, validationErrorSchema } from './envelope.ts';
import { ERRORS, errorOf, errorReply, ValidationError } from './errors.ts';

/** What can be asked for after an operation, with what its answer or its own path gives. */
export interface NextOperation {
  readonly operationId: string;
  /** The parameters of its path, as OpenAPI's runtime expressions. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** What the document says of an operation beyond its declaration. */
export interface OperationNotes {
  /** An example of its body. */
  readonly request?: unknown;
  /** An example of each answer that is no refusal, by its status. */
  readonly responses?: Readonly<Record<number, unknown>>;
  readonly next?: readonly NextOperation[];
}

const header = (id: string, description: string, schema: z.ZodType = z.string()) =>
  schema.meta({ description, header: { id } });

const optional = z.string().optional();

/** The headers that every answer of a merchant route carries. */
const commonHeaders = z.object({
  'X-API-Version': header('X-API-Version', 'The current API version', z.iso.date()),
  'X-Request-Id': header(
    'X-Request-Id',
    'Names this request in our logs: your own `X-Request-Id` if you sent 1 to 64 of ' +
      '`A-Z a-z 0-9 . _ -`, else a new one. Quote it when you ask us about an answer.',
  ),
  Deprecation: header('Deprecation', 'Since when the pinned version is superseded', optional),
  Sunset: header('Sunset', 'Until when the pinned version is supported', optional),
});

/** The headers that an answer of some status carries beside them. */
const statusHeaders: Readonly<Record<number, z.ZodRawShape>> = {
  401: { 'WWW-Authenticate': header('WWW-Authenticate', 'Names the kind of credentials') },
  405: { Allow: header('Allow', 'The methods that the path has') },
  429: { 'Retry-After': header('Retry-After', 'Seconds to wait', z.string().regex(/^[0-9]+$/)) },
};

const badRequestSchema = z.union([validationErrorSchema, standardErrorSchema]);

function errorSchemaOf(codes: readonly ErrorCode[]): z.ZodType {
  if (codes.includes('TOO_MANY_REQUESTS')) return rateLimitErrorSchema;
  return codes.includes('VALIDATION_FAILED') ? badRequestSchema : standardErrorSchema;
}

const jsonContent = (schema: z.ZodType, examples: object = {}) => ({
  'application/json': { schema, ...examples },
});

/** The moment of every example answer that stands for none of the order's own. */
const EXAMPLE_TIME = new Date('2026-11-20T09:30:00.000Z');

/** What each error looks like, word for word. */
function errorExample(code: ErrorCode) {
  const error =
    code === 'VALIDATION_FAILED'
      ? new ValidationError({ amount: 'must be greater than or equal to 5.0' })
      : errorOf(code);
  return { summary: error.message, value: errorReply(error, EXAMPLE_TIME).body };
}

/** All refusals of one status, which share one entry in the document. */
function refusalOf(status: number, codes: readonly ErrorCode[]) {
  return {
    description: codes.map((code) => ERRORS[code].message).join('. '),
    headers: commonHeaders.extend(statusHeaders[status] ?? {}),
    content: jsonContent(errorSchemaOf(codes), {
      examples: Object.fromEntries(codes.map((code) => [code, errorExample(code)])),
    }),
  };
}

function linksOf({ next = [] }: OperationNotes): { links?: ZodOpenApiLinksObject } {
  if (next.length === 0) return {};
  const links = next.map(({ operationId, parameters }) => [
    operationId,
    { operationId, parameters: { ...parameters } },
  ]);
  return { links: Object.fromEntries(links) };
}

/** The example of an answer, where there is one. */
function exampleOf({ responses = {} }: OperationNotes, status: string): object {
  const example = responses[Number(status)];
  return example === undefined ? {} : { example };
}

/** Every answer of a route, whole: those that it declares and its refusals, each with its headers. */
export function responsesOf(route: Route, notes: OperationNotes): ZodOpenApiResponsesObject {
  const refusals = Map.groupBy(errorsOf(route), (code) => ERRORS[code].status);
  const declared = Object.entries(route.responses).map(([status, response]) => [
    status,
    {
      description: response.description,
      headers: commonHeaders.extend(response.headers?.shape ?? {}),
      content: jsonContent(response.schema, exampleOf(notes, status)),
      ...linksOf(notes),
    },
  ]);
  return Object.fromEntries([
    ...declared,
    ...[...refusals].map(([status, codes]) => [String(status), refusalOf(status, codes)]),
  ]);
}
