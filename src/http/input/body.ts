import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { DomainError } from '../../domain/errors.ts';
import { errorOf, HttpRefusal } from '../responses/errors.ts';
import { allowUpload, receiveBody } from './arrival.ts';
import { contentLengthBytes, parseForm, parseMultipart, parseMultipartStart } from './form.ts';

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

/** The largest form with a file. */
export const UPLOAD_LIMIT_BYTES = FILE_LIMIT_BYTES + MULTIPART_OVERHEAD_BYTES;

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

/** How a body of one type is read. */
interface BodyForm {
  readonly mediaType: string;
  readonly limitBytes: number;
  /** The limit of the content, where a browser sends more bytes than were typed. */
  readonly isTooLarge?: (bytes: Buffer) => boolean;
  tooLarge(): DomainError;
  parse(bytes: Buffer<ArrayBuffer>, contentType: string): object | Promise<object>;
}

const withoutFiles = {
  limitBytes: BODY_LIMIT_BYTES,
  tooLarge: () => errorOf('BODY_TOO_LARGE'),
};

const BODY_FORMS = {
  json: { ...withoutFiles, mediaType: 'application/json', parse: parseJsonObject },
  form: {
    ...withoutFiles,
    mediaType: 'application/x-www-form-urlencoded',
    // 5,000 characters of Hindi have 15 KB, of which a browser sends 45.
    limitBytes: 3 * BODY_LIMIT_BYTES,
    isTooLarge: (bytes) => contentLengthBytes(bytes) > BODY_LIMIT_BYTES,
    parse: parseForm,
  },
  multipart: {
    mediaType: 'multipart/form-data',
    limitBytes: UPLOAD_LIMIT_BYTES,
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
 * @throws DomainError BODY_TOO_LARGE (413), BAD_REQUEST (400), or of a form REQUEST_TOO_SLOW (408).
 */
export async function readBody(
  request: IncomingMessage,
  bodyType: BodyType,
  optional: boolean,
): Promise<ParsedBody> {
  // The signature of a longer one is never checked, so it is as good as none.
  if (bodyType === 'unparsed') {
    const { bytes, end } = await receiveBody(request, BODY_LIMIT_BYTES);
    assertArrived(end);
    return { rawBody: end === 'tooLarge' ? undefined : bytes, body: {} };
  }
  const form: BodyForm = BODY_FORMS[bodyType];
  if (bodyType === 'multipart') allowUpload(request);
  const { bytes, end } = await receiveBody(request, form.limitBytes, bodyType !== 'json');
  assertArrived(end);
  if (end === 'tooLarge' || form.isTooLarge?.(bytes)) throw form.tooLarge();
  if (bytes.length === 0 && optional) return { rawBody: undefined, body: undefined };
  assertReadable(request, form.mediaType);
  const body = await form.parse(bytes, request.headers['content-type'] ?? '');
  return { rawBody: bytes, body };
}

/** @throws DomainError BAD_REQUEST if the client disconnected early, REQUEST_TOO_SLOW (408) */
function assertArrived(end: Awaited<ReturnType<typeof receiveBody>>['end']): void {
  if (end === 'cutOff') throw badRequest('The request body ended early');
  if (end === 'tooLate') throw new HttpRefusal('REQUEST_TOO_SLOW', { Connection: 'close' });
}

/**
 * The fields of a form that was refused, as far as they have arrived: of one with a file, those before the file.
 * A form that was not read yet is read now, and a longer one up to its limit.
 */
export async function readRefusedForm(
  request: IncomingMessage,
  bodyType: BodyType,
): Promise<Readonly<Record<string, unknown>>> {
  if (bodyType !== 'form' && bodyType !== 'multipart') return {};
  const type = request.headers['content-type'] ?? '';
  if (!type.toLowerCase().startsWith(BODY_FORMS[bodyType].mediaType)) return {};
  if (bodyType === 'form') {
    const bytes = await arrivedSoon(request, BODY_FORMS.form.limitBytes);
    return { ...parseForm(bytes) };
  }
  allowUpload(request);
  const bytes = await arrivedSoon(request, BODY_LIMIT_BYTES);
  return { ...(await parseMultipartStart(bytes, type).catch(() => ({}))) };
}

/** A refusal waits no longer for what was typed: it is sent within a second. */
const REFUSED_FORM_WAIT_MS = 500;

async function arrivedSoon(request: IncomingMessage, limitBytes: number) {
  const arrived = receiveBody(request, limitBytes, true).then(({ bytes }) => bytes);
  return Promise.race([arrived, sleep(REFUSED_FORM_WAIT_MS, Buffer.alloc(0), { ref: false })]);
}
