import { h } from 'preact';
import type {
  OpenApiResponse,
  Document,
  MediaType,
  Parameter,
  LocatedOperation,
} from './document.ts';
import { componentOf, jsonOf } from './document.ts';
import { objectTable, parameterTable, prose, typeOf } from './fields.ts';

/** A block of text in a fixed width, with words that say what it is. */
export function codeBlock(caption: string, text: string) {
  return h(
    'figure',
    { class: 'code' },
    h('figcaption', null, caption),
    h('pre', null, h('code', null, text)),
  );
}

export const asJson = (value: unknown) => JSON.stringify(value, null, 2);

/** The path of an operation with the examples of its parameters in it. */
function examplePath(path: string, parameters: readonly Parameter[]): string {
  return parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce(
      (filled, { name, schema }) => filled.replace(`{${name}}`, String(schema.example ?? name)),
      path,
    );
}

/** The request as a command to paste, after the quick start has set its three variables. */
function curlOf({ method, path, operation }: LocatedOperation): string {
  const body = jsonOf(operation.requestBody)?.example;
  const lines = [
    `curl "$BASE${examplePath(path, operation.parameters ?? [])}"${method === 'GET' ? '' : ` -X ${method}`}`,
    '-H "X-API-Key: $KEY" -H "X-API-Secret: $SECRET"',
  ];
  if (body !== undefined) {
    lines.push("-H 'Content-Type: application/json'", `-d '${asJson(body)}'`);
  }
  return lines.join(' \\\n  ');
}

/** The parameters that an operation does not share with all others. */
const ownParameters = (parameters: readonly Parameter[] = []) =>
  parameters.filter(({ name }) => name !== 'X-API-Version');

function bodyTable(document: Document, { operation }: LocatedOperation) {
  const schema = jsonOf(operation.requestBody)?.schema;
  if (!schema) return null;
  const component = componentOf(schema);
  const whole = component === undefined ? schema : document.components.schemas[component];
  const caption = operation.requestBody?.required ? 'Body' : 'Body, which may be left out';
  return objectTable(caption, whole ?? {}, true);
}

const isSuccess = (status: string) => status.startsWith('2');

/** What `data` of a standard answer is. */
function dataOf(media: MediaType | undefined) {
  const data = media?.schema.properties?.['data'];
  if (!data) return null;
  return data.properties
    ? objectTable('data', data, false)
    : h('p', null, h('code', null, 'data'), ': ', typeOf(data));
}

function successes(answers: readonly (readonly [string, OpenApiResponse])[]) {
  return answers.map(([status, answer]) => [
    h('p', { class: 'answer' }, h('strong', null, status), ` ${answer.description}`),
    dataOf(jsonOf(answer)),
  ]);
}

function refusals(answers: readonly (readonly [string, OpenApiResponse])[]) {
  const messages = answers.flatMap(([status, answer]) =>
    Object.values(jsonOf(answer)?.examples ?? {}).map(({ summary }) => ({ status, summary })),
  );
  return h(
    'details',
    null,
    h('summary', null, `Refusals: ${answers.map(([status]) => status).join(', ')}`),
    h(
      'ul',
      null,
      messages.map(({ status, summary }) =>
        h('li', null, h('strong', null, status), ` ${summary}`),
      ),
    ),
  );
}

/** One operation: what it takes and answers, and beside it what that looks like. */
export function operationSection(document: Document, located: LocatedOperation) {
  const { method, path, operation } = located;
  const { operationId, summary, description, parameters, responses } = operation;
  const answers = Object.entries(responses);
  const examples = answers.filter(([, answer]) => jsonOf(answer)?.example !== undefined);
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
      parameterTable('Parameters and headers', ownParameters(parameters)),
      bodyTable(document, located),
      h('h4', null, 'Answers'),
      successes(answers.filter(([status]) => isSuccess(status))),
      refusals(answers.filter(([status]) => !isSuccess(status))),
    ),
    h(
      'div',
      { class: 'examples' },
      codeBlock('Request', curlOf(located)),
      examples
        .slice(-1)
        .map(([status, answer]) => codeBlock(`Answer ${status}`, asJson(jsonOf(answer)?.example))),
    ),
  );
}
