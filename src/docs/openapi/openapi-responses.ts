import { z } from 'zod';
import type { ZodOpenApiLinksObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { ERROR_CODES } from '../../domain/errors.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { errorsOf } from '../../http/responses/declared-responses.ts';
import type { Route } from '../../http/define-route.ts';
import {
  rateLimitErrorSchema,
  standardErrorSchema,
  validationErrorSchema,
} from '../../http/responses/response.ts';
import { ERRORS, errorOf, errorReply, ValidationError } from '../../http/responses/errors.ts';

/** A link to an operation that may follow, with parameters taken from the request or response. */
export interface NextOperation {
  readonly operationId: string;
  /** Its path parameters, as OpenAPI runtime expressions. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** What the document contains about an operation beyond its declaration. */
export interface OperationNotes {
  /** An example of its body. */
  readonly request?: unknown;
  /** An example of each successful response, by its status. */
  readonly responses?: Readonly<Record<number, unknown>>;
  readonly next?: readonly NextOperation[];
  /** The operation in programming languages: `x-codeSamples`. */
  readonly samples?: readonly {
    readonly lang: string;
    readonly label: string;
    readonly source: string;
  }[];
}

const header = (id: string, description: string, schema: z.ZodType = z.string()) =>
  schema.meta({ description, header: { id } });

const optional = z.string().optional();

/** The headers of every response of a merchant route. */
const commonHeaders = z.object({
  'X-API-Version': header('X-API-Version', 'The current API version', z.iso.date()),
  'X-Request-Id': header(
    'X-Request-Id',
    'Identifies this request in our logs: your own `X-Request-Id` if you sent 1 to 64 of ' +
      '`A-Z a-z 0-9 . _ -`, else a new one. Quote it when you contact support.',
  ),
  'X-Unknown-Fields': header(
    'X-Unknown-Fields',
    'In the sandbox: the fields of the body and the query parameters that the operation does not know ' +
      'and has ignored; at most ten, percent-encoded, separated by commas',
    optional,
  ),
  Deprecation: header('Deprecation', 'When the pinned version was superseded', optional),
  Sunset: header('Sunset', 'When support for the pinned version ends', optional),
});

/** The header of every error. New codes may be added. */
const errorHeaders = commonHeaders.extend({
  'X-Error-Code': header(
    'X-Error-Code',
    'Tells errors of one status apart; the message may change, the code does not',
    z.enum(ERROR_CODES).meta({ id: 'ErrorCode' }),
  ),
});

const retryAfter = {
  'Retry-After': header('Retry-After', 'Seconds to wait', z.string().regex(/^[0-9]+$/)),
};

/** The additional headers of a response with a certain status. */
const statusHeaders: Readonly<Record<number, z.ZodRawShape>> = {
  401: { 'WWW-Authenticate': header('WWW-Authenticate', 'The authentication scheme') },
  405: { Allow: header('Allow', 'The methods that the path has') },
  429: retryAfter,
  500: retryAfter,
};

const badRequestSchema = z.union([validationErrorSchema, standardErrorSchema]);

function errorSchemaOf(codes: readonly ErrorCode[]): z.ZodType {
  if (codes.includes('TOO_MANY_REQUESTS')) return rateLimitErrorSchema;
  return codes.includes('VALIDATION_FAILED') ? badRequestSchema : standardErrorSchema;
}

const jsonContent = (schema: z.ZodType, examples: object = {}) => ({
  'application/json': { schema, ...examples },
});

/** The timestamp of the error examples. */
const EXAMPLE_TIME = new Date('2026-11-20T09:30:00.000Z');

/** The exact response body of each error. */
function errorExample(code: ErrorCode) {
  const error =
    code === 'VALIDATION_FAILED'
      ? new ValidationError({ amount: 'must be greater than or equal to 5.0' })
      : errorOf(code);
  return { summary: error.message, value: errorReply(error, EXAMPLE_TIME).body };
}

/** All errors of one status, which share one entry in the document. */
function errorResponseOf(status: number, codes: readonly ErrorCode[]) {
  return {
    description: codes.map((code) => ERRORS[code].message).join('. '),
    headers: errorHeaders.extend(statusHeaders[status] ?? {}),
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

/** The example of a response, if there is one. */
function exampleOf({ responses = {} }: OperationNotes, status: string): object {
  const example = responses[Number(status)];
  return example === undefined ? {} : { example };
}

/** Every response of a route, with headers: the declared ones and its errors. */
export function responsesOf(route: Route, notes: OperationNotes): ZodOpenApiResponsesObject {
  const errors = Map.groupBy(errorsOf(route), (code) => ERRORS[code].status);
  const declared = Object.entries(route.responses).map(([status, response]) => [
    status,
    {
      description: response.description,
      headers: commonHeaders.extend(response.headers?.shape ?? {}),
      content: {
        ...jsonContent(response.schema, exampleOf(notes, status)),
        ...(response.alsoAs && { [response.alsoAs]: { schema: z.string() } }),
      },
      ...linksOf(notes),
    },
  ]);
  return Object.fromEntries([
    ...declared,
    ...[...errors].map(([status, codes]) => [String(status), errorResponseOf(status, codes)]),
  ]);
}
