import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import compress from 'koa-compress';
import type Koa from 'koa';

/** What is text for browsers. Answers of the API are small, and files are streams of unknown length. */
const COMPRESSED = /^(text\/(html|css|javascript|markdown)|image\/svg\+xml)/;

/** Shorter texts are sent as they are. */
const THRESHOLD_BYTES = 1024;

const ENCODERS = { br: promisify(brotliCompress), gzip: promisify(gzip) } as const;
type Encoding = keyof typeof ENCODERS;

/** What was compressed of each file: its bytes are the same object for every request. */
const compressedFiles = new WeakMap<Buffer, Map<Encoding, Promise<Buffer>>>();

function compressedOnce(file: Buffer, encoding: Encoding): Promise<Buffer> {
  const forms = compressedFiles.get(file) ?? new Map<Encoding, Promise<Buffer>>();
  compressedFiles.set(file, forms);
  const compressed = forms.get(encoding) ?? ENCODERS[encoding](file);
  forms.set(encoding, compressed);
  return compressed;
}

/**
 * Compresses a file once for each encoding, however often it is asked for: compression takes the
 * threads that passwords are hashed in.
 */
export function compressFiles(): Koa.Middleware {
  return async (ctx, next) => {
    await next();
    const { body } = ctx;
    if (!Buffer.isBuffer(body) || body.length < THRESHOLD_BYTES || !COMPRESSED.test(ctx.type))
      return;
    const encoding = ctx.acceptsEncodings(...(Object.keys(ENCODERS) as Encoding[]), 'identity');
    if (encoding !== 'br' && encoding !== 'gzip') return;
    ctx.body = await compressedOnce(body, encoding);
    ctx.set('Content-Encoding', encoding);
  };
}

/**
 * Compresses pages. The cookies of the dashboard are `SameSite=Strict`, so that no other site can make a
 * browser fetch a person's page and learn of its length what it contains.
 */
export function compressPages(): Koa.Middleware {
  return compress({ filter: (type) => COMPRESSED.test(type), threshold: THRESHOLD_BYTES });
}
