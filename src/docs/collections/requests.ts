import type { Document, LocatedOperation, Parameter } from '../openapi/document.ts';
import { jsonOf, operationsOf } from '../openapi/document.ts';

/** A header, or a parameter of a URL. */
export interface Value {
  readonly name: string;
  readonly value: string;
  readonly description: string;
  /** Whether the request is sent without it until the reader selects it. */
  readonly disabled: boolean;
}

/** An operation as a request that can be sent. */
export interface CollectionRequest {
  readonly name: string;
  readonly description: string;
  readonly method: string;
  /** Relative to the base URL, with parameters as both programs write them: `/orders/:id`. */
  readonly path: string;
  readonly pathParameters: readonly Value[];
  readonly query: readonly Value[];
  readonly headers: readonly Value[];
  /** The example of the body, as JSON. */
  readonly body?: string;
}

/** The requests of one tag. */
export interface CollectionFolder {
  readonly name: string;
  readonly description: string;
  readonly requests: readonly CollectionRequest[];
}

/** The base URL of an environment. */
export interface CollectionEnvironment {
  readonly name: string;
  readonly baseUrl: string;
}

/** What Postman and Bruno both fill in as a new UUID each time. */
const NEW_KEY = '{{$guid}}';

/** `ApiKey` → `apiKey`: the variable with a credential. */
const variableOf = (scheme: string) => scheme.charAt(0).toLowerCase() + scheme.slice(1);

/** The names of the variables with the credentials. */
export function credentialVariables({ components }: Document): string[] {
  return Object.keys(components.securitySchemes).map(variableOf);
}

/** The environments of the document's servers. @param publicBaseUrl what their URLs follow */
export function environmentsOf(
  { servers }: Document,
  publicBaseUrl: string,
): [CollectionEnvironment, ...CollectionEnvironment[]] {
  const [first, ...others] = servers.map(({ url, description }) => ({
    name: description.split(':')[0] ?? description,
    baseUrl: publicBaseUrl + url,
  }));
  if (!first) throw new Error('The document has no server');
  return [first, ...others];
}

/** Follows the reference of a parameter that operations share. */
function resolved(parameter: Parameter | { readonly $ref: string }, { components }: Document) {
  if (!('$ref' in parameter)) return parameter;
  const found = components.parameters?.[parameter.$ref.replace('#/components/parameters/', '')];
  if (!found) throw new Error(`The document has no ${parameter.$ref}`);
  return found;
}

/** With an example in each request, the requests would all have the same Idempotency-Key. */
function valueOf({ name, required = false, schema, ...parameter }: Parameter): Value {
  const description = parameter.description ?? schema.description ?? '';
  if (name === 'Idempotency-Key') return { name, value: NEW_KEY, description, disabled: false };
  const value = String(schema.example ?? schema.default ?? '');
  return { name, value, description, disabled: !required };
}

function credentialHeaders({ components }: Document): Value[] {
  return Object.entries(components.securitySchemes).map(([scheme, { name, description = '' }]) => {
    return { name, value: `{{${variableOf(scheme)}}}`, description, disabled: false };
  });
}

const withColons = (path: string) => path.replaceAll(/\{(\w+)\}/g, ':$1');
const asText = (example: unknown) => JSON.stringify(example, null, 2);

function requestOf({ method, path, operation }: LocatedOperation, document: Document) {
  const { summary: name, description, parameters = [], requestBody } = operation;
  const whole = parameters.map((parameter) => resolved(parameter, document));
  const inPlace = (place: string) => whole.filter((one) => one.in === place).map(valueOf);
  const example = jsonOf(requestBody)?.example;
  const headers = [...credentialHeaders(document), ...inPlace('header')];
  const shared = { name, description, method, path: withColons(path), headers };
  const url = { pathParameters: inPlace('path'), query: inPlace('query') };
  return { ...shared, ...url, ...(example !== undefined && { body: asText(example) }) };
}

/** Every operation of the document as a request, by tag, in the order of the document. */
export function foldersOf(document: Document): CollectionFolder[] {
  const operations = operationsOf(document);
  return document.tags.map(({ name, description }) => ({
    name,
    description,
    requests: operations
      .filter(({ operation }) => operation.tags.includes(name))
      .map((located) => requestOf(located, document)),
  }));
}
