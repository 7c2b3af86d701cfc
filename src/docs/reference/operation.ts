import { h } from 'preact';
import type {
  OpenApiResponse,
  Document,
  MediaType,
  Parameter,
  LocatedOperation,
} from '../openapi/document.ts';
import { componentOf, jsonOf } from '../openapi/document.ts';
import { objectTable, parameterTable, prose, typeOf } from './fields.ts';

/** A code block with a caption. */
export function codeBlock(caption: string, text: string) {
  return h(
    'figure',
    { class: 'code' },
    h('figcaption', null, caption),
    h('pre', null, h('code', null, text)),
  );
}

/** A value as indented JSON. */
export const asJson = (value: unknown) => JSON.stringify(value, null, 2);

/** The path of an operation, with example values for its parameters. */
function examplePath(path: string, parameters: readonly Parameter[]): string {
  return parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce(
      (filled, { name, schema }) => filled.replace(`{${name}}`, String(schema.example ?? name)),
      path,
    );
}

/** The request as a curl command that uses the three variables of the quick start. */
export function curlOf({ method, path, operation }: LocatedOperation): string {
  const body = jsonOf(operation.requestBody)?.example;
  const parameters = ownParameters(operation.parameters);
  const hasKey = parameters.some(({ name }) => name === 'Idempotency-Key');
  const key = `SHOP-1042-${operation.operationId.replace(/Order$/, '')}`;
  const lines = [
    `curl "$BASE${examplePath(path, parameters)}"${method === 'GET' ? '' : ` -X ${method}`}`,
    '-H "X-API-Key: $KEY" -H "X-API-Secret: $SECRET"',
    ...(hasKey ? [`-H 'Idempotency-Key: ${key}'`] : []),
  ];
  if (body !== undefined) {
    lines.push(
      "-H 'Content-Type: application/json'",
      `-d '${asJson(body).replaceAll('\n', '\n  ')}'`,
    );
  }
  return lines.join(' \\\n  ');
}

/** The parameters of an operation, without the one that all operations share. */
const ownParameters = (parameters: readonly Parameter[] = []) =>
  parameters.filter((parameter) => 'name' in parameter);

function bodyTable(document: Document, { operation }: LocatedOperation) {
  const schema = jsonOf(operation.requestBody)?.schema;
  if (!schema) return null;
  const component = componentOf(schema);
  const whole = component === undefined ? schema : document.components.schemas[component];
  const caption = operation.requestBody?.required ? 'Body' : 'Body (optional)';
  return objectTable(caption, whole ?? {}, 'client');
}

const isSuccess = (status: string) => status.startsWith('2');

/** Describes the `data` of a standard response envelope. */
function dataOf(media: MediaType | undefined) {
  const data = media?.schema.properties?.['data'];
  if (!data) return null;
  return data.properties
    ? objectTable('data', data, 'service')
    : h('p', null, h('code', null, 'data'), ': ', typeOf(data));
}

function successes(responses: readonly (readonly [string, OpenApiResponse])[]) {
  return responses.map(([status, response]) => [
    h('p', { class: 'answer' }, h('strong', null, status), ` ${response.description}`),
    dataOf(jsonOf(response)),
  ]);
}

function errorResponses(responses: readonly (readonly [string, OpenApiResponse])[]) {
  const messages = responses.flatMap(([status, response]) =>
    Object.values(jsonOf(response)?.examples ?? {}).map(({ summary }) => ({ status, summary })),
  );
  return h(
    'details',
    null,
    h('summary', null, `Errors: ${responses.map(([status]) => status).join(', ')}`),
    h(
      'ul',
      null,
      messages.map(({ status, summary }) =>
        h('li', null, h('strong', null, status), ` ${summary}`),
      ),
    ),
  );
}

/** The request with curl and with each SDK: a script makes tabs of them. */
function requestSamples(located: LocatedOperation) {
  const samples = located.operation['x-codeSamples'] ?? [];
  return h(
    'div',
    { class: 'samples' },
    codeBlock('curl', curlOf(located)),
    samples.map(({ label, source }) => codeBlock(label, source)),
  );
}

/**
 * The section of one operation: parameters, body, responses and errors, with examples beside them.
 */
export function operationSection(document: Document, located: LocatedOperation) {
  const { method, path, operation } = located;
  const { operationId, summary, description, parameters, responses } = operation;
  const all = Object.entries(responses);
  const examples = all.filter(([, response]) => jsonOf(response)?.example !== undefined);
  return h(
    'section',
    { class: 'entry', id: operationId, 'aria-labelledby': `${operationId}-title` },
    h(
      'div',
      { class: 'facts' },
      h('h3', { id: `${operationId}-title` }, summary),
      h(
        'p',
        { class: 'path' },
        h('span', { class: `method ${method.toLowerCase()}` }, method),
        ' ',
        h('code', null, path),
      ),
      prose(description),
      parameterTable('Parameters and headers', ownParameters(parameters), 'client'),
      bodyTable(document, located),
      h('h4', null, 'Responses'),
      successes(all.filter(([status]) => isSuccess(status))),
      errorResponses(all.filter(([status]) => !isSuccess(status))),
    ),
    h(
      'div',
      { class: 'examples' },
      requestSamples(located),
      examples
        .slice(-1)
        .map(([status, response]) =>
          codeBlock(`Response ${status}`, asJson(jsonOf(response)?.example)),
        ),
    ),
  );
}
