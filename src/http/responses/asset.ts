import { createHash } from 'node:crypto';
import { extname } from 'node:path';
import { z } from 'zod';
import { defineRoute } from '../define-route.ts';
import type { Route } from '../define-route.ts';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** One year: the URL contains the hash of the content, so the content never changes. */
const HEADERS = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/** A static file that pages load. */
export interface Asset {
  /** Relative to the root of the service; contains the hash of the content. */
  readonly path: `/${string}`;
  readonly route: Route;
}

/**
 * Declares the route of a static file. Browsers may cache it without limit: new content has a new
 * URL.
 *
 * @param folder the path prefix of the URL
 * @param name the file name; its extension (`.css`, `.js`, `.svg` or `.woff2`) determines the content type
 * @throws Error for any other extension
 */
export function createAsset(folder: `/${string}`, name: string, content: string | Buffer): Asset {
  const extension = extname(name);
  const contentType = CONTENT_TYPES[extension];
  if (contentType === undefined) throw new Error(`${name}: no content type for ${extension}`);
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
  const path = `${folder}/${name.slice(0, -extension.length)}.${hash}${extension}` as const;
  return { path, route: fileRoute(path, { content, contentType, headers: HEADERS }) };
}

/** Declares the route of content that is the same for every request. */
export function fileRoute(
  path: `/${string}`,
  file: {
    content: string | Buffer;
    contentType: string;
    headers: Readonly<Record<string, string>>;
  },
): Route {
  const { contentType, headers } = file;
  // One object for all requests: what is compressed of it is kept with it.
  const content = Buffer.from(file.content);
  return defineRoute({
    method: 'GET',
    base: 'root',
    path,
    operationId: `get ${path}`,
    responses: { 200: { description: 'The file.', contentType, schema: z.unknown() } },
  }).handledBy(async () => ({ status: 200, body: content, headers }));
}
