import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { serviceTest } from '../support/service-test.ts';

interface Pair {
  key: string;
  value: string;
  disabled?: boolean;
}
interface Postman {
  info: { schema: string };
  item: {
    name: string;
    item: {
      name: string;
      request: {
        method: string;
        header: Pair[];
        url: { raw: string; path: string[]; query: Pair[]; variable: Pair[] };
        body?: { mode: string; raw: string };
      };
    }[];
  }[];
  variable: Pair[];
}
interface Named {
  name: string;
  value: string;
  type?: string;
  disabled?: boolean;
}
interface OpenCollection {
  opencollection: string;
  bundled: boolean;
  config: {
    environments: { name: string; variables: { name: string; value?: string; secret?: true }[] }[];
  };
  items: {
    info: { name: string; type: string };
    items: {
      info: { name: string; type: string };
      http: {
        method: string;
        url: string;
        headers: Named[];
        params: Named[];
        body?: { type: string; data: string };
      };
    }[];
  }[];
}
interface Operation {
  summary: string;
  requestBody?: { content: { 'application/json': { example: unknown } } };
}
interface OpenApi {
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
}

/** A request as both collections have it, with its variables. */
interface Sent {
  name: string;
  method: string;
  url: string;
  headers: Record<string, string>;
  pathParameters: string[];
  body?: string;
}

const sentHeaders = (headers: readonly Named[]) =>
  Object.fromEntries(
    headers.filter(({ disabled }) => disabled !== true).map(({ name, value }) => [name, value]),
  );
const asNamed = ({ key: name, ...pair }: Pair): Named => ({ name, ...pair });

function ofPostman({ item }: Postman): Sent[] {
  return item
    .flatMap((folder) => folder.item)
    .map(({ name, request: { method, header, url, body } }) => ({
      name,
      method,
      url: url.raw,
      headers: sentHeaders(header.map(asNamed)),
      pathParameters: url.variable.map(({ key }) => key),
      ...(body && { body: body.raw }),
    }));
}

/** Bruno adds the type of the body itself. */
function ofOpenCollection({ items }: OpenCollection): Sent[] {
  const requests = items.flatMap((folder) => folder.items);
  return requests.map(({ info: { name }, http: { method, url, headers, params, body } }) => ({
    name,
    method,
    url,
    headers: { ...sentHeaders(headers), ...(body && { 'Content-Type': 'application/json' }) },
    pathParameters: params.filter(({ type }) => type === 'path').map((one) => one.name),
    ...(body && { body: body.data }),
  }));
}

const test = serviceTest({ time: 'real' })
  .extend('document', { scope: 'file' }, async ({ service }) => read<OpenApi>(service, 'openapi'))
  .extend('postman', { scope: 'file' }, async ({ service }) => read<Postman>(service, 'postman'))
  .extend('openCollection', { scope: 'file' }, async ({ service }) =>
    read<OpenCollection>(service, 'opencollection'),
  );

async function read<Content>({ origin }: { origin: string }, name: string): Promise<Content> {
  const response = await fetch(`${origin}/${name}.json`);
  expect(response.headers.get('Content-Type')).toMatch(/^application\/json/);
  return (await response.json()) as Content;
}

function expectedOf({ paths }: OpenApi) {
  return Object.entries(paths).flatMap(([path, item]) =>
    ['get', 'post']
      .flatMap((method) => (item[method] ? [{ method, operation: item[method] }] : []))
      .map(({ method, operation: { summary, requestBody } }) => ({
        name: summary,
        method: method.toUpperCase(),
        url: `{{baseUrl}}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
        pathParameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
        body: requestBody?.content['application/json'].example,
      })),
  );
}

const byName = (left: { name: string }, right: { name: string }) =>
  left.name.localeCompare(right.name);

test('both collections have each operation with its example and both credentials', ({
  document,
  postman,
  openCollection,
}) => {
  for (const requests of [ofPostman(postman), ofOpenCollection(openCollection)]) {
    const found = requests.map(({ headers, body, ...request }) => {
      expect(headers).toMatchObject({ 'X-API-Key': '{{apiKey}}', 'X-API-Secret': '{{apiSecret}}' });
      expect(headers).not.toHaveProperty('X-API-Version');
      return { ...request, body: body === undefined ? undefined : JSON.parse(body) };
    });
    expect(found.sort(byName)).toEqual(expectedOf(document).sort(byName));
  }
  const tags = document.tags.map(({ name }) => name);
  expect(postman.item.map(({ name }) => name)).toEqual(tags);
  expect(openCollection.items.map(({ info }) => info.name)).toEqual(tags);
});

test('the variables are the base URL of the sandbox and empty credentials', ({
  service,
  postman,
  openCollection,
}) => {
  const sandbox = `${service.origin}/sandbox/api/merchant/v1`;
  expect(postman.info.schema).toContain('/v2.1.0/');
  expect(postman.variable.map(({ key, value }) => [key, value])).toEqual([
    ['baseUrl', sandbox],
    ['apiKey', ''],
    ['apiSecret', ''],
  ]);
  expect(openCollection).toMatchObject({ opencollection: '1.0.0', bundled: true });
  const credentials = ['apiKey', 'apiSecret'].map((name) => ({ name, secret: true }));
  expect(openCollection.config.environments).toEqual([
    { name: 'Sandbox', variables: [{ name: 'baseUrl', value: sandbox }, ...credentials] },
    {
      name: 'Production',
      variables: [{ name: 'baseUrl', value: `${service.origin}/api/merchant/v1` }, ...credentials],
    },
  ]);
});

/** Fills in the variables of a request as Postman and Bruno do. */
function filledIn(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{\{([$\w]+)\}\}/g, (_, name: string) => {
    const value = name === '$guid' ? randomUUID() : variables[name];
    if (value === undefined) throw new Error(`The collection has no variable ${name}`);
    return value;
  });
}

/** A refusal because of the state of an order is possible, one because of the request is not. */
const MISTAKES = ['VALIDATION_FAILED', 'BAD_REQUEST', 'UNAUTHORIZED', 'METHOD_NOT_ALLOWED'];

async function send({ method, url, headers, body }: Sent, variables: Record<string, string>) {
  const filled = Object.entries(headers).map(([name, value]): [string, string] => [
    name,
    filledIn(value, variables),
  ]);
  return fetch(filledIn(url, variables), {
    method,
    headers: Object.fromEntries(filled),
    ...(body !== undefined && { body }),
  });
}

test('the service understands every request of both collections', async ({
  merchant,
  postman,
  openCollection,
}) => {
  const { apiKey, apiSecret } = merchant.keys.sandbox;
  const variables = { baseUrl: postman.variable[0]?.value ?? '', apiKey, apiSecret };
  for (const requests of [ofPostman(postman), ofOpenCollection(openCollection)]) {
    const { order_number: id } = await merchant.sandbox.create();
    for (const request of requests) {
      // After it, the next POST answers 500.
      if (request.url.endsWith('/fail-after-work')) continue;
      const url = request.url
        .replace(':id', id)
        .replace(':session', 'none')
        .replace(':date', '2026-11-20');
      const { status, headers } = await send({ ...request, url }, variables);
      const mistake = MISTAKES.find((code) => code === headers.get('X-Error-Code'));
      expect({ url, status, mistake }).toEqual({ url, status, mistake: undefined });
      expect(status).toBeLessThan(500);
      if (request.name === 'Create an order') expect(status).toBe(201);
    }
  }
});
