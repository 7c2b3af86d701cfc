import type { IncomingMessage } from 'node:http';
import { DomainError } from '../domain/errors.ts';
import { errorOf } from './errors.ts';

/** The largest body that is read. */
const BODY_LIMIT_BYTES = 32 * 1024;

const badRequest = (message: string) => new DomainError('BAD_REQUEST', message);

/** @throws DomainError BODY_TOO_LARGE if the request announces more than the limit. */
export function assertContentLength(request: IncomingMessage): void {
  if (Number(request.headers['content-length'] ?? 0) > BODY_LIMIT_BYTES) {
    throw errorOf('BODY_TOO_LARGE');
  }
}

/** Programs send JSON; the forms of our pages send what browsers send without JavaScript. */
export type BodyType = 'json' | 'form';

/**
 * Both are UTF-8 and nothing else, so another charset or an encoding on top is refused.
 *
 * @throws DomainError BAD_REQUEST that names the header at fault
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

/** @throws DomainError BODY_TOO_LARGE, or BAD_REQUEST if the caller went away half-way. */
async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let lengthBytes = 0;
  try {
    // Destroying the stream would cut the connection before the caller could read the answer.
    for await (const chunk of request.iterator({
      destroyOnReturn: false,
    }) as AsyncIterable<Buffer>) {
      lengthBytes += chunk.length;
      if (lengthBytes > BODY_LIMIT_BYTES) break;
      chunks.push(chunk);
    }
  } catch {
    throw badRequest('The request body ended early');
  }
  if (lengthBytes <= BODY_LIMIT_BYTES) return Buffer.concat(chunks);
  request.resume();
  throw errorOf('BODY_TOO_LARGE');
}

/** A numeral, perhaps, of more digits than JavaScript's numbers keep apart. */
const LONG_NUMERAL = /[\d.]{16}/;

/** Every number of at most so many digits is a number of JavaScript's, different from all others. */
const EXACT_DIGITS = 15;

/** 0.0150 and 15e-3 are one magnitude: the digits 15, the first of them at the place of 10^-2. */
function magnitudeOf(numeral: string): { place: number; digits: string } {
  const [mantissa = '', exponent = '0'] = numeral.replace('-', '').toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = (whole + fraction).replace(/^0+/, '');
  const leadingZeros = whole.length + fraction.length - digits.length;
  const place = Number(exponent) + whole.length - 1 - leadingZeros;
  return { place, digits: digits.replace(/0+$/, '') };
}

/**
 * 5.0000000000000001 is rounded to 5, and must not pass for it: a number that is written more
 * precisely than JavaScript can hold becomes its neighbour on that side, which has as many digits.
 * So 4.9999999999999999 stays below 5.
 *
 * @param context optional only because TypeScript does not know yet that Node 24 gives it
 */
function preserveExcessPrecision(
  _name: string,
  value: unknown,
  context?: { source?: string },
): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  const [written, held] = [magnitudeOf(context.source), magnitudeOf(String(value))];
  // One of more digits is refused wherever few are wanted, and its neighbour could have few.
  if (written.digits === held.digits || held.digits.length > EXACT_DIGITS) return value;
  const isBeyond =
    written.place === held.place ? written.digits > held.digits : written.place > held.place;
  return value * (isBeyond ? 1 + Number.EPSILON : 1 - Number.EPSILON);
}

/** A reviver looks at every level by recursion, and a body may have 10,000: only where needed. */
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

/** The fields of a form; of one that comes twice, the last. Bytes that are no text become U+FFFD. */
function parseForm(bytes: Buffer): object {
  return Object.fromEntries(new URLSearchParams(bytes.toString('utf8')));
}

const BODY_FORMS = {
  json: { mediaType: 'application/json', parse: parseJsonObject },
  form: { mediaType: 'application/x-www-form-urlencoded', parse: parseForm },
} as const satisfies Record<BodyType, { mediaType: string; parse(bytes: Buffer): object }>;

/** A body as its bytes and as the object they spell; both undefined if there is none. */
export interface ParsedBody {
  readonly rawBody: Buffer | undefined;
  readonly body: object | undefined;
}

/**
 * Reads a JSON object, or the fields of a form, of at most 32 KiB.
 *
 * @param optional whether a request without a body, then also without a Content-Type, will do.
 * @throws DomainError BODY_TOO_LARGE (413) or BAD_REQUEST (400).
 */
export async function readBody(
  request: IncomingMessage,
  bodyType: BodyType,
  optional: boolean,
): Promise<ParsedBody> {
  const { mediaType, parse } = BODY_FORMS[bodyType];
  const rawBody = await readBytes(request);
  if (rawBody.length === 0 && optional) return { rawBody: undefined, body: undefined };
  assertReadable(request, mediaType);
  return { rawBody, body: parse(rawBody) };
}
