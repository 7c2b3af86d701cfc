import { DomainError } from '../../domain/errors.ts';

/**
 * Browsers send each line break of a form as CR LF. It is one character, as in the field where it was typed and in
 * its `maxlength`; limits, API, webhooks and mails have LF alone.
 */
const withLineFeeds = (typed: string): string => typed.replaceAll(/\r\n?/g, '\n');

/** The length of a form without the percent-encoding, which takes three bytes for one. */
export function contentLengthBytes(bytes: Buffer): number {
  let escapes = 0;
  for (let at = bytes.indexOf('%'); at !== -1; at = bytes.indexOf('%', at + 1)) escapes += 1;
  return bytes.length - 2 * escapes;
}

/**
 * Parses a form. Fields whose names end in `[]` are lists; of any other repeated field the last one
 * wins. Invalid UTF-8 becomes U+FFFD. One pass, because a form may have thousands of fields.
 */
export function parseForm(bytes: Buffer): object {
  const fields = new Map<string, string | string[]>();
  for (const [name, typed] of new URLSearchParams(bytes.toString('utf8'))) {
    const value = withLineFeeds(typed);
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

/** The boundary that the header names; undefined if it is not one that browsers send. */
function boundaryOf(contentType: string): string | undefined {
  const boundary = MULTIPART_TYPE.exec(contentType)?.[1]?.replaceAll('"', '');
  return boundary !== undefined && boundary.length <= MAX_BOUNDARY_LENGTH ? boundary : undefined;
}

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
export async function parseMultipart(
  bytes: Buffer<ArrayBuffer>,
  contentType: string,
): Promise<object> {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined || !isSmallMultipart(bytes, boundary)) throw malformedMultipart();
  try {
    const headers = { 'Content-Type': contentType };
    const fields = await new Response(bytes, { headers }).formData();
    return Object.fromEntries(
      [...fields].map(([name, value]) => [
        name,
        typeof value === 'string' ? withLineFeeds(value) : value,
      ]),
    );
  } catch {
    throw malformedMultipart();
  }
}

const malformedMultipart = () => new DomainError('BAD_REQUEST', 'Malformed multipart form');

/** The whole fields at the beginning of a form with files that did not arrive whole: those before its file. */
export async function parseMultipartStart(
  bytes: Buffer<ArrayBuffer>,
  contentType: string,
): Promise<object> {
  const boundary = boundaryOf(contentType) ?? '';
  const end = bytes.lastIndexOf(`\r\n--${boundary}`);
  if (boundary === '' || end === -1) return {};
  const whole = Buffer.concat([bytes.subarray(0, end), Buffer.from(`\r\n--${boundary}--\r\n`)]);
  return parseMultipart(whole, contentType);
}
