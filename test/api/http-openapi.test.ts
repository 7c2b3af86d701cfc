import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { docsRoutes } from '../../src/docs/routes.ts';
import { email, integerInQuery, text } from '../../src/http/input/fields.ts';
import { createOpenApiDocument } from '../../src/docs/openapi/openapi.ts';
import { createReadiness, healthRoutes } from '../../src/http/server/readiness.ts';
import { defineRoute } from '../../src/http/define-route.ts';
import { cancelThing, createThing, getThing, sandboxOnly, serve, thing } from './http-support.ts';

const listThings = defineRoute({
  method: 'GET',
  base: 'merchant',
  path: '/things',
  operationId: 'listThings',
  summary: 'List things',
  description: '',
  tags: ['Things'],
  query: z.object({
    size: integerInQuery({ error: 'must be 1 to 100', minimum: 1, maximum: 100, fallback: 20 }),
  }),
  responses: { 200: { description: 'Things', schema: z.array(thing) } },
}).handledBy(async () => ({ status: 200, body: [] }));

const options = {
  routes: [
    createThing,
    listThings,
    getThing,
    cancelThing,
    sandboxOnly,
    ...healthRoutes(createReadiness({})),
  ],
  webhooks: ['THING_CREATED', 'THING_GONE'].map((event) => ({
    event,
    description: 'Something happened',
    headers: z.object({ 'X-Service-Event': z.string() }),
    payload: z.object({ event: z.literal(event), data: thing }),
  })),
  version: '2026-11-20',
  supportedVersions: ['2026-11-20'],
  title: 'Things',
  description: 'An example',
  contact: { name: 'Help', url: 'https://pay.example/docs' },
};

/** The document as a reader of its JSON gets it. */
const documentOf = (overrides: Partial<Parameters<typeof createOpenApiDocument>[0]> = {}) =>
  JSON.parse(JSON.stringify(createOpenApiDocument({ ...options, ...overrides })));

const document = documentOf();

test('the servers are the two base paths and the paths are relative to them', () => {
  expect(document.openapi).toBe('3.1.0');
  expect(document.servers.map(({ url }: { url: string }) => url)).toEqual([
    '/sandbox/api/merchant/v1',
    '/api/merchant/v1',
  ]);
  expect(Object.keys(document.paths)).toEqual([
    '/things',
    '/things/{id}',
    '/things/{id}/cancel',
    '/test-helpers/pay',
  ]);
});

test('a path of the sandbox only says so', () => {
  expect(document.paths['/test-helpers/pay'].servers).toHaveLength(1);
  expect(document.paths['/test-helpers/pay'].servers[0].url).toBe('/sandbox/api/merchant/v1');
  expect(document.paths['/things'].servers).toBeUndefined();
});

test('both credential headers are required together', () => {
  expect(document.security).toEqual([{ ApiKey: [], ApiSecret: [] }]);
  expect(document.components.securitySchemes).toEqual({
    ApiKey: expect.objectContaining({ type: 'apiKey', in: 'header', name: 'X-API-Key' }),
    ApiSecret: expect.objectContaining({ type: 'apiKey', in: 'header', name: 'X-API-Secret' }),
  });
});

test('two methods of one path are both in the document', () => {
  expect(Object.keys(document.paths['/things'])).toEqual(['post', 'get']);
});

test('every operation documents its own responses and those of every merchant route', () => {
  const statusesOf = (path: string, method: string) =>
    Object.keys(document.paths[path][method].responses);
  const common = ['400', '401', '403', '405', '408', '413', '429', '431', '500'];
  expect(statusesOf('/things', 'post')).toEqual(['201', ...common]);
  expect(statusesOf('/things/{id}', 'get')).toEqual(
    ['200', ...common, '404'].sort((left, right) => Number(left) - Number(right)),
  );
});

test('every response documents its version header, 429 its Retry-After, 201 its key', () => {
  for (const path of Object.values<Record<string, { responses?: object }>>(document.paths)) {
    for (const { responses = {} } of Object.values(path)) {
      for (const answer of Object.values(responses)) {
        expect(answer.headers['X-API-Version'].$ref).toBe('#/components/headers/X-API-Version');
      }
    }
  }
  const { responses } = document.paths['/things'].post;
  expect(responses['429'].headers['Retry-After']).toBeDefined();
  expect(responses['201'].headers['Idempotency-Key'].required).toBe(true);
  expect(document.components.headers['X-API-Version'].required).toBe(true);
  expect(document.components.headers['Sunset'].required).toBeUndefined();
});

test('each status has the error body of the specification', () => {
  const { responses } = document.paths['/things'].post;
  const schemaOf = (status: number) => responses[status].content['application/json'].schema;
  expect(schemaOf(400)).toEqual({
    oneOf: [
      { $ref: '#/components/schemas/ValidationError' },
      { $ref: '#/components/schemas/Error' },
    ],
  });
  expect(schemaOf(401)).toEqual({ $ref: '#/components/schemas/Error' });
  expect(schemaOf(429)).toEqual({ $ref: '#/components/schemas/RateLimitError' });
});

test('a body is required exactly when the route requires it', () => {
  expect(document.paths['/things'].post.requestBody.required).toBe(true);
  expect(document.paths['/things/{id}/cancel'].post.requestBody.required).toBe(false);
  expect(document.paths['/test-helpers/pay'].post.requestBody.required).toBe(false);
  expect(document.paths['/things/{id}'].get.requestBody).toBeUndefined();
});

test('the documented constraints of the input are the validated ones', () => {
  const { properties, required } = document.components.schemas.CreateThing;
  expect(required).toEqual(['amount', 'description']);
  expect(properties.amount).toEqual({ type: 'number', format: 'double', minimum: 5 });
  expect(properties.description.maxLength).toBe(50);
  expect(properties.note).toEqual({ type: ['string', 'null'], pattern: '^[^\\u0000]*$' });
  const parameters = document.paths['/things'].get.parameters;
  expect(parameters).toContainEqual({
    in: 'query',
    name: 'size',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  });
  expect(parameters).toContainEqual({ $ref: '#/components/parameters/X-API-Version' });
  expect(document.components.parameters['X-API-Version']).toMatchObject({
    in: 'header',
    name: 'X-API-Version',
    schema: { type: 'string', example: '2026-11-20' },
  });
});

test('the document has no form that generators do not understand', () => {
  const names = (node: unknown): string[] =>
    typeof node === 'object' && node !== null
      ? Object.entries(node).flatMap(([name, value]) => [name, ...names(value)])
      : [];
  expect(names(document)).toContain('oneOf');
  expect(names(document)).not.toContain('anyOf');
});

test('each event has an entry in `webhooks`, with the same schemas as the responses', () => {
  expect(Object.keys(document.webhooks)).toEqual(['THING_CREATED', 'THING_GONE']);
  const { requestBody, parameters } = document.webhooks.THING_CREATED.post;
  const reference = requestBody.content['application/json'].schema.$ref;
  expect(reference).toBe('#/components/schemas/ThingCreatedEvent');
  expect(parameters[0]).toMatchObject({ in: 'header', name: 'X-Service-Event', required: true });
  const { schemas } = document.components;
  expect(schemas.ThingCreatedEvent.properties.data).toEqual({ $ref: '#/components/schemas/Thing' });
  expect(
    Object.keys(schemas)
      .filter((name) => name.startsWith('Thing'))
      .sort(),
  ).toEqual(['Thing', 'ThingCreatedEvent', 'ThingGoneEvent']);
});

test('one name for two different schemas prevents the start', () => {
  const payload = z.object({ data: z.object({ other: z.string() }).meta({ id: 'Thing' }) });
  const webhook = { event: 'ODD', description: '', headers: z.object({}), payload };
  expect(() => documentOf({ webhooks: [webhook] })).toThrow('Thing');
});

test('every reference resolves, and public routes are not part of the merchant API', () => {
  const references = [...JSON.stringify(document).matchAll(/"#\/([^"]+)"/g)];
  expect(references.length).toBeGreaterThan(50);
  for (const [, path = ''] of references) {
    const found = path.split('/').reduce((node, key) => node?.[key], document);
    expect(found, path).toBeDefined();
  }
  expect(document.paths['/healthz']).toBeUndefined();
});

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.string({
    unit: fc.constantFrom(' ', '\t', '\u00a0', '\u3000', '\0', 'a', '😀'),
    maxLength: 8,
  }),
);

/** Validates as a reader of the document would. */
function documentedText(schema: z.ZodType) {
  const { pattern, minLength = 0, maxLength = Infinity } = z.toJSONSchema(schema, { io: 'input' });
  return (value: string) =>
    [...value].length >= minLength &&
    [...value].length <= maxLength &&
    new RegExp(pattern ?? '', 'u').test(value);
}

test.each([
  ['any text', text({ error: 'wrong', maxLength: 5 })],
  ['visible text', text({ error: 'wrong', minLength: 2, maxLength: 5, notBlank: true })],
  ['an e-mail address', email({ error: 'wrong' })],
])('documentation and validation agree about %s', (_what, schema) => {
  const isDocumented = documentedText(schema);
  fc.assert(
    fc.property(fc.oneof(anyText, fc.emailAddress()), (value) => {
      expect(schema.safeParse(value).success).toBe(isDocumented(value));
    }),
  );
});

test.each([
  'a@b.in',
  'first.last+tag@sub.example.co.in',
  "o'neil@example.com",
  `${'a'.repeat(64)}@example.com`,
])('an e-mail address is accepted: %s', (address) => {
  expect(email({ error: 'wrong' }).safeParse(address).success).toBe(true);
});

test.each([
  '',
  'a',
  '@b.in',
  'a@',
  'a@b',
  'a b@c.in',
  '.a@b.in',
  'a.@b.in',
  'a..b@c.in',
  'a@-b.in',
  'a@b-.in',
  'a@b..in',
  'a@b.i',
  'a@b.in\n',
  'a@@b.in',
  `${'a'.repeat(65)}@example.com`,
  `a@${'b'.repeat(64)}.in`,
  `a@${'b.'.repeat(126)}in`,
  'ä@b.in',
  'a@b.in, c@d.in',
  null,
  5,
])('an e-mail address is refused: %j', (address) => {
  expect(email({ error: 'wrong' }).safeParse(address).success).toBe(false);
});

test.each([
  ['1', 1],
  ['100', 100],
  [undefined, 20],
])('a page size of %j is %d', (value, size) => {
  const schema = integerInQuery({ error: 'wrong', minimum: 1, maximum: 100, fallback: 20 });
  expect(schema.parse(value)).toBe(size);
});

test.each([
  '0',
  '101',
  '-1',
  '1.5',
  '1e1',
  '',
  ' 1',
  '0x1',
  'NaN',
  '99999999999999999999',
  ['1', '2'],
])('a page size of %j is refused with the message of the rule', (value) => {
  const schema = integerInQuery({ error: 'wrong', minimum: 1, maximum: 100, fallback: 20 });
  expect(schema.safeParse(value).error?.issues.map(({ message }) => message)).toEqual(['wrong']);
});

const CHAPTERS = [{ name: 'begin', title: 'Begin', text: 'Create a **thing**.' }];

test('the document is served without credentials, as JSON', async () => {
  await using server = await serve({
    routes: docsRoutes(document, CHAPTERS, 'https://pay.example'),
  });
  const response = await fetch(`${server.url}/openapi.json`);
  expect(response.headers.get('Content-Type')).toMatch(/^application\/json/);
  expect(await response.json()).toEqual(document);
});

test('the guide is also Markdown, and /llms.txt links to all of it', async () => {
  await using server = await serve({
    routes: docsRoutes(document, CHAPTERS, 'https://pay.example'),
  });
  const read = async (path: string) => (await fetch(`${server.url}${path}`)).text();
  const index = await read('/llms.txt');
  const links = [...index.matchAll(/\]\((\/[^)]+)\)/g)].map(([, path = '']) => path);
  expect(links).toEqual([
    '/docs/guides/begin.md',
    '/docs.md',
    '/openapi.json',
    '/postman.json',
    '/opencollection.json',
  ]);
  expect(await read('/docs/guides/begin.md')).toBe('# Begin\n\nCreate a **thing**.\n');
  const whole = await read('/docs.md');
  expect(whole).toContain('Create a **thing**.');
  expect(whole).toContain('- `POST /things`: ');
});

test('the docs page has nothing inline, and this service serves everything that it needs', async () => {
  await using server = await serve({
    routes: docsRoutes(document, CHAPTERS, 'https://pay.example'),
  });
  const response = await fetch(`${server.url}/docs`);
  const policy = response.headers.get('Content-Security-Policy');
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
  expect(policy).not.toContain('unsafe');
  const page = await response.text();
  expect(page).not.toMatch(/<script>|<style|style=|onload=|https?:/);
  for (const file of ['openapi.json', 'postman.json', 'opencollection.json', 'docs.md']) {
    expect(page).toContain(`href="${file}"`);
    expect([file, (await fetch(`${server.url}/${file}`)).status]).toEqual([file, 200]);
  }
  const assets = [...page.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, path]) => path);
  expect(assets).toEqual(['docs/reference.css', 'docs/reference.js']);
  for (const asset of assets) {
    const { status, headers } = await fetch(`${server.url}/${asset}`);
    expect([status, headers.get('Content-Type')]).toEqual([
      200,
      expect.stringMatching(/^text\/(javascript|css); charset=utf-8$/),
    ]);
  }
});
