import { gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { canariesIn, type Canaries } from './canary.ts';

const BASE64_RUN = /[A-Za-z0-9+/_-]{16,}/g;
/** As `COPY` writes a bytea, and as JSON or a log may write one. */
const HEX_RUN = /[0-9a-f]{16,}/gi;
/** The starts of compressed data, and what reads it. */
const COMPRESSED = [
  { starts: [0x1f, 0x8b], read: gunzipSync },
  { starts: [0x78], read: inflateSync },
  { starts: [0x28, 0xb5, 0x2f, 0xfd], read: zstdDecompressSync },
] as const;
const MAX_DEPTH = 3;

function unescaped(text: string): string {
  const json = text.replaceAll(/\\{1,8}u([0-9a-fA-F]{4})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  return json.replaceAll(/%([0-9a-fA-F]{2})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

function decompressed(bytes: Buffer): string[] {
  return COMPRESSED.filter(({ starts }) =>
    starts.every((byte, place) => bytes[place] === byte),
  ).flatMap(({ read }) => {
    try {
      return [read(bytes, { maxOutputLength: 64 * 1024 * 1024 }).toString('latin1')];
    } catch {
      return [];
    }
  });
}

/** The texts that are encoded in a text: in hexadecimal digits, in base64, compressed or escaped. */
function* decodedTexts(text: string): Generator<string> {
  if (/\\u|%/.test(text)) {
    const plain = unescaped(text);
    if (plain !== text) yield plain;
  }
  for (const [run] of text.matchAll(HEX_RUN)) {
    const bytes = Buffer.from(run, 'hex');
    yield bytes.toString('latin1');
    yield* decompressed(bytes);
  }
  for (const [run] of text.matchAll(BASE64_RUN)) {
    if (/^[0-9a-f]+$/.test(run)) continue;
    for (const offset of [0, 1, 2, 3]) {
      const bytes = Buffer.from(run.slice(offset), 'base64');
      yield bytes.toString('latin1');
      if (offset === 0) yield* decompressed(bytes);
    }
  }
}

/** All canaries in a text, also in what is encoded in it, up to three encodings deep. */
export function searchText(text: string, canaries: Canaries, depth = 0): Set<string> {
  const found = new Set(canariesIn(text, canaries));
  if (depth === MAX_DEPTH) return found;
  for (const decoded of decodedTexts(text)) {
    // Random bytes have only short runs of characters that a value or its escapes consist of.
    if (!/[a-zA-Z0-9%\\]{10}/.test(decoded)) continue;
    for (const one of searchText(decoded, canaries, depth + 1)) found.add(one);
  }
  return found;
}
