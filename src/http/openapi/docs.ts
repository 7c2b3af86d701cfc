import { readFileSync } from 'node:fs';
import { fileRoute } from '../responses/asset.ts';
import type { Route } from '../define-route.ts';
import type { Document } from './reference/document.ts';
import { renderReference } from './reference/page.ts';

/** Allows resources of this origin only, and nothing inline. */
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

/** The URLs are relative, so that the page also works behind a path prefix. */
const FILES = { style: 'docs/reference.css', openapi: 'openapi.json' };

/** Cached for an hour only: the content changes with a release, the URL does not. */
const ASSET_HEADERS = { 'Cache-Control': 'public, max-age=3600' };

function docsRoute(path: `/${string}`, contentType: string, content: string, headers = {}): Route {
  const file = { content, contentType, headers: { ...ASSET_HEADERS, ...headers } };
  const description = 'Part of the documentation.';
  return fileRoute(path, file, { summary: path, description, tags: ['Documentation'] });
}

/** Declares `/openapi.json` and `/docs`. The page loads nothing from other sites. */
export function docsRoutes(document: object): Route[] {
  const json = JSON.stringify(document);
  // Parsed from the JSON, so that the page renders what clients get: no `undefined` values.
  const page = renderReference(JSON.parse(json) as Document, FILES);
  const style = readFileSync(new URL('./reference/reference.css', import.meta.url), 'utf8');
  return [
    docsRoute('/openapi.json', 'application/json', json, { 'Cache-Control': 'no-cache' }),
    docsRoute('/docs', 'text/html', page, { 'Content-Security-Policy': PAGE_POLICY }),
    docsRoute('/docs/reference.css', 'text/css', style),
  ];
}
