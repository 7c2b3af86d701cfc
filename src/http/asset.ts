import { createHash } from 'node:crypto';
import { extname } from 'node:path';
import { z } from 'zod';
import { defineRoute } from './define-route.ts';
import type { Route } from './define-route.ts';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};

/** A year: its content never changes under this address. */
const HEADERS = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/** A file of our own that pages load. */
export interface Asset {
  /** From the root of the service, with the hash of the content in it. */
  readonly path: `/${string}`;
  readonly route: Route;
}

/**
 * Serves a file to browsers that may keep it for ever: new content has a new address.
 *
 * @param folder below which it is served
 * @param name with an extension that says what it is: `.css`, `.js` or `.svg`
 */
export function createAsset(folder: `/${string}`, name: string, content: string): Asset {
  const extension = extname(name);
  const contentType = CONTENT_TYPES[extension];
  if (contentType === undefined) throw new Error(`${name}: no content type for ${extension}`);
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
  const path = `${folder}/${name.slice(0, -extension.length)}.${hash}${extension}` as const;
  const route = defineRoute({
    method: 'GET',
    base: 'root',
    caller: 'public',
    path,
    operationId: `get ${path}`,
    summary: name,
    description: 'Part of a page.',
    tags: ['Pages'],
    responses: { 200: { description: 'The file.', contentType, schema: z.string() } },
  }).handledBy(async () => ({ status: 200, body: content, headers: HEADERS }));
  return { path, route };
}
