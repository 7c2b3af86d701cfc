import type { IncomingMessage } from 'node:http';
import { DomainError } from '../../domain/errors.ts';
import { errorOf } from '../responses/errors.ts';

const badRequest = (message: string) => new DomainError('BAD_REQUEST', message);

/**
 * API clients send JSON; pages send HTML forms, and `multipart` ones if they have files. Of an `unparsed`
 * body the handler gets the bytes: it checks their signature first.
 */
export type BodyType = 'json' | 'form' | 'multipart' | 'unparsed';

/** The largest request body without files. Source: the contract. */
const BODY_LIMIT_BYTES = 32 * 1024;

/** The largest file that a form may have. */
export const FILE_LIMIT_BYTES = 5 * 1024 * 1024;

/** The other fields and the boundaries of a form with a file. */
const MULTIPART_OVERHEAD_BYTES = 64 * 1024;

/** @throws DomainError BODY_TOO_LARGE if `Content-Length` is over the limit of the body type. */
export function assertContentLength(request: IncomingMessage, bodyType: BodyType): void {
  if (bodyType === 'unparsed') return;
  const { limitBytes, tooLarge } = BODY_FORMS[bodyType];
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw tooLarge();
}

/**
 * Checks the media type. Another charset than UTF-8, or a Content-Encoding, is refused.
 *
 * @throws DomainError BAD_REQUEST that names the invalid header
 */
function assertReadable(request: IncomingMessage, mediaType: string): void {
  const [type, ...parameters] = (request.headers['content-type'] ?? '').toLowerCase().split(';');
  if (type?.trim() !== mediaType) throw badRequest(`Content-Type must be ${mediaType}`);
  const charset = parameters.map((part) => part.trim()).find((part) => part.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) {
    throw badRequest('The charset of the request body must be UTF-8');
  }
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw badRequest('The request body must not be compressed; send it without Content-Encoding');
  }
}

/**
 * Reads the bytes of a body up to the limit.
 *
 * @returns undefined if there are more
 * @throws DomainError BAD_REQUEST if the client disconnected early
 */
async function readBytes(
  request: IncomingMessage,
  limitBytes: number,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const chunks: Buffer[] = [];
  let lengthBytes = 0;
  try {
    // Destroying the stream would close the connection before the client has read the response.
    for await (const chunk of request.iterator({
      destroyOnReturn: false,
    }) as AsyncIterable<Buffer>) {
      lengthBytes += chunk.length;
      if (lengthBytes > limitBytes) break;
      chunks.push(chunk);
    }
  } catch {
    throw badRequest('The request body ended early');
  }
  if (lengthBytes <= limitBytes) return Buffer.concat(chunks);
  request.resume();
  return undefined;
}

/** Finds texts that may contain a number with more digits than a JavaScript number can hold. */
const LONG_NUMERAL = /[\d.]{16}/;

/** Decimal numbers of up to 15 digits survive the conversion to a JavaScript number and back. */
const EXACT_DIGITS = 15;

/** Not `/0+$/`, which tries again from each of 32,000 zeros before another digit. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}

/** Normalises a numeral: 0.0150 and 15e-3 both have the digits 15, the first at 10^-2. */
function magnitudeOf(numeral: string): { place: number; digits: string } {
  const [mantissa = '', exponent = '0'] = numeral.replace('-', '').toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = (whole + fraction).replace(/^0+/, '');
  const leadingZeros = whole.length + fraction.length - digits.length;
  const place = Number(exponent) + whole.length - 1 - leadingZeros;
  return { place, digits: withoutTrailingZeros(digits) };
}

/**
 * A reviver for `JSON.parse` that keeps a rounded number from passing validation. JavaScript rounds
 * 4.9999999999999999 to 5. This reviver returns the next representable number below 5 instead, so
 * the minimum of 5 refuses it; likewise 5.0000000000000001 becomes the next number above 5.
 *
 * @param context optional only because TypeScript's types do not have Node 24's third argument yet
 */
function preserveExcessPrecision(
  _name: string,
  value: unknown,
  context?: { source?: string },
): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  const [written, held] = [magnitudeOf(context.source), magnitudeOf(String(value))];
  // A value with more digits breaks the decimals rule anyway; its neighbour could satisfy it.
  if (written.digits === held.digits || held.digits.length > EXACT_DIGITS) return value;
  const isBeyond =
    written.place === held.place ? written.digits > held.digits : written.place > held.place;
  return value * (isBeyond ? 1 + Number.EPSILON : 1 - Number.EPSILON);
}

/** Uses the reviver only when needed: it recurses, and a body may be nested 10,000 levels deep. */
function parseJson(text: string): unknown {
  return JSON.parse(text, LONG_NUMERAL.test(text) ? preserveExcessPrecision : undefined);
}

/** @throws DomainError BAD_REQUEST unless the bytes are a JSON object in valid UTF-8. */
function parseJsonObject(bytes: Buffer): object {
  let value: unknown;
  try {
    value = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw badRequest('Malformed JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest('The request body must be a JSON object');
  }
  return value;
}

/**
 * Parses a form. Fields whose names end in `[]` are lists; of any other repeated field the last one
 * wins. Invalid UTF-8 becomes U+FFFD. One pass, because a form may have thousands of fields.
 */
function parseForm(bytes: Buffer): object {
  const fields = new Map<string, string | string[]>();
  for (const [name, value] of new URLSearchParams(bytes.toString('utf8'))) {
    const earlier = fields.get(name);
    if (Array.isArray(earlier)) earlier.push(value);
    else fields.set(name, name.endsWith('[]') ? [value] : value);
  }
  return Object.fromEntries(fields);
}

/** What browsers send: no other parameter, so that two parsers cannot find two boundaries. */
const MULTIPART_TYPE = /^multipart\/form-data; *boundary=([\w'()+,./:=?-]+|"[\w'()+,./:=?-]+")$/i;
/** RFC 2046, 5.1.1. */
const MAX_BOUNDARY_LENGTH = 70;

/** More than any form of this service has. */
const MAX_PARTS = 100;

/** A part's headers have the names of its field and of its file. */
const MAX_PART_HEADER_BYTES = 4 * 1024;

/**
 * Whether a form is cheap to parse. 5 MB without contents are 100,000 parts or 800,000 headers of a
 * part, and parsing them would block the process for almost a second.
 */
function isSmallMultipart(bytes: Buffer, boundary: string): boolean {
  const delimiter = Buffer.from(`--${boundary}`);
  let parts = 0;
  for (let at = bytes.indexOf(delimiter); at !== -1; at = bytes.indexOf(delimiter, at)) {
    at += delimiter.length;
    parts += 1;
    const header = bytes.subarray(at, at + MAX_PART_HEADER_BYTES);
    const isEnd = header.toString('latin1', 0, 2) === '--';
    if (parts > MAX_PARTS || !(isEnd || header.includes('\r\n\r\n'))) return false;
  }
  return true;
}

/**
 * Parses a form with files: a file is a `File`, any other field a string. The last of repeated
 * fields wins.
 *
 * @param contentType names the boundary
 * @throws DomainError BAD_REQUEST
 */
async function parseMultipart(bytes: Buffer<ArrayBuffer>, contentType: string): Promise<object> {
  const boundary = MULTIPART_TYPE.exec(contentType)?.[1]?.replaceAll('"', '');
  const isKnown = boundary !== undefined && boundary.length <= MAX_BOUNDARY_LENGTH;
  if (!isKnown || !isSmallMultipart(bytes, boundary)) throw malformedMultipart();
  try {
    const headers = { 'Content-Type': contentType };
    const fields = await new Response(bytes, { headers }).formData();
    return Object.fromEntries(fields);
  } catch {
    throw malformedMultipart();
  }
}

const malformedMultipart = () => badRequest('Malformed multipart form');

/** How a body of one type is read. */
interface BodyForm {
  readonly mediaType: string;
  readonly limitBytes: number;
  tooLarge(): DomainError;
  parse(bytes: Buffer<ArrayBuffer>, contentType: string): object | Promise<object>;
}

const withoutFiles = {
  limitBytes: BODY_LIMIT_BYTES,
  tooLarge: () => errorOf('BODY_TOO_LARGE'),
};

const BODY_FORMS = {
  json: { ...withoutFiles, mediaType: 'application/json', parse: parseJsonObject },
  form: { ...withoutFiles, mediaType: 'application/x-www-form-urlencoded', parse: parseForm },
  multipart: {
    mediaType: 'multipart/form-data',
    limitBytes: FILE_LIMIT_BYTES + MULTIPART_OVERHEAD_BYTES,
    tooLarge: () => new DomainError('BODY_TOO_LARGE', 'The file is larger than 5 MB'),
    parse: parseMultipart,
  },
} as const satisfies Record<Exclude<BodyType, 'unparsed'>, BodyForm>;

/** The bytes of a body and the parsed object; both undefined if the request has no body. */
export interface ParsedBody {
  readonly rawBody: Buffer | undefined;
  readonly body: object | undefined;
}

/**
 * Reads a JSON object or the fields of a form, of at most 32 KiB; with a file, of at most 5 MB. An
 * `unparsed` body has no bytes if it is longer than 32 KiB.
 *
 * @param optional whether a request may omit the body, and then also the Content-Type.
 * @throws DomainError BODY_TOO_LARGE (413) or BAD_REQUEST (400).
 */
export async function readBody(
  request: IncomingMessage,
  bodyType: BodyType,
  optional: boolean,
): Promise<ParsedBody> {
  // The signature of a longer one is never checked, so it is as good as none.
  if (bodyType === 'unparsed')
    return { rawBody: await readBytes(request, BODY_LIMIT_BYTES), body: {} };
  const form: BodyForm = BODY_FORMS[bodyType];
  const rawBody = await readBytes(request, form.limitBytes);
  if (!rawBody) throw form.tooLarge();
  if (rawBody.length === 0 && optional) return { rawBody: undefined, body: undefined };
  assertReadable(request, form.mediaType);
  const body = await form.parse(rawBody, request.headers['content-type'] ?? '');
  return { rawBody, body };
}
