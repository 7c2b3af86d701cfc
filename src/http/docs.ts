import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { z } from 'zod';
import { defineRoute } from './define-route.ts';
import type { Route } from './define-route.ts';

const require = createRequire(import.meta.url);

/** Everything from us and nothing inline; Swagger UI's style sheet holds its icons as data. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Addresses are relative, so that the page also works behind a path prefix. */
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Merchant API</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="docs/swagger-ui.css" />
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/initializer.js"></script>
  </body>
</html>
`;

/** Its own file, because the policy allows no inline script. The validator would be a foreign site. */
const INITIALIZER = `window.ui = SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
});
`;

/** Public and the same for everyone, but new with every release. */
const ASSET_HEADERS = { 'Cache-Control': 'public, max-age=3600' };

function fileRoute(path: `/${string}`, contentType: string, content: string, headers = {}): Route {
  return defineRoute({
    method: 'GET',
    base: 'root',
    caller: 'public',
    path,
    operationId: `get ${path}`,
    summary: path,
    description: 'Part of the documentation.',
    tags: ['Documentation'],
    responses: { 200: { description: 'The file.', contentType, schema: z.string() } },
  }).handledBy(async () => ({
    status: 200,
    body: content,
    headers: { ...ASSET_HEADERS, ...headers },
  }));
}

/** `/openapi.json` and, for people, `/docs`: both whole and without a word to any other site. */
export function docsRoutes(document: object): Route[] {
  const asset = (name: string) => readFileSync(require.resolve(`swagger-ui-dist/${name}`), 'utf8');
  const script = 'text/javascript';
  return [
    fileRoute('/openapi.json', 'application/json', JSON.stringify(document), {
      'Cache-Control': 'no-cache',
    }),
    fileRoute('/docs', 'text/html', PAGE, { 'Content-Security-Policy': PAGE_POLICY }),
    fileRoute('/docs/initializer.js', script, INITIALIZER),
    fileRoute('/docs/swagger-ui-bundle.js', script, asset('swagger-ui-bundle.js')),
    fileRoute('/docs/swagger-ui.css', 'text/css', asset('swagger-ui.css')),
  ];
}
