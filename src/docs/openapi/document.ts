/** The part of a JSON Schema that the reference shows. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: string | number | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
}

/** A body with its examples. */
export interface MediaType {
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly summary: string }>>;
}

/** A path, query or header parameter; the one that all operations share is a `$ref`, without a name. */
export interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema & { readonly example?: string | number };
}

/** A response with one status. */
export interface OpenApiResponse {
  readonly description: string;
  readonly content?: Readonly<Record<string, MediaType>>;
}

/** An operation of a path, or the request of a webhook. */
export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<string, MediaType>>;
  };
  readonly responses: Readonly<Record<string, OpenApiResponse>>;
  readonly 'x-codeSamples'?: readonly { readonly label: string; readonly source: string }[];
}

/** A header with a credential. */
export interface SecurityScheme {
  readonly name: string;
  readonly description?: string;
}

/** The part of an OpenAPI document that the reference and the collections show. */
export interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters?: Readonly<Record<string, Parameter>>;
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>;
  };
}

/** An operation with its method and path. */
export interface LocatedOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Every operation of the document, in document order. */
export function operationsOf({ paths }: Document): LocatedOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((method) => METHODS.includes(method))
      .map((method) => ({
        method: method.toUpperCase(),
        path,
        operation: item[method] as Operation,
      })),
  );
}

const JSON_TYPE = 'application/json';

/** The JSON content of a request body or response; undefined if it has none. */
export function jsonOf(
  body: { content?: OpenApiResponse['content'] } | undefined,
): MediaType | undefined {
  return body?.content?.[JSON_TYPE];
}

/** The name of the component that a schema references; undefined if it references none. */
export function componentOf({ $ref }: Schema): string | undefined {
  return $ref?.replace('#/components/schemas/', '');
}
