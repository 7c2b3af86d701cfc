import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { defineRoute } from './define-route.ts';
import type { Route } from './define-route.ts';
import type { Document } from './reference/document.ts';
import { renderReference } from './reference/page.ts';

/** Everything from us and nothing inline. */
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
const FILES = { style: 'docs/reference.css', openapi: 'openapi.json' };

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
  const json = JSON.stringify(document);
  // Read back, because that is what others see of it: a document without its `undefined`s.
  const page = renderReference(JSON.parse(json) as Document, FILES);
  const style = readFileSync(new URL('./reference/reference.css', import.meta.url), 'utf8');
  return [
    fileRoute('/openapi.json', 'application/json', json, { 'Cache-Control': 'no-cache' }),
    fileRoute('/docs', 'text/html', page, { 'Content-Security-Policy': PAGE_POLICY }),
    fileRoute('/docs/reference.css', 'text/css', style),
  ];
}
