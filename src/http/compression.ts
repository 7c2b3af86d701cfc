import compress from 'koa-compress';
import type Koa from 'koa';

/** What is text for browsers. Answers of the API are small, and files are streams of unknown length. */
const COMPRESSED = /^(text\/(html|css|javascript|markdown)|image\/svg\+xml)/;

/**
 * Compresses pages and their files. The cookies of the dashboard are `SameSite=Strict`, so that no other site can make a
 * browser fetch a person's page and learn of its length what it contains.
 */
export function compressPages(): Koa.Middleware {
  return compress({ filter: (type) => COMPRESSED.test(type), threshold: 1024 });
}
