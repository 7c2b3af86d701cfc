import { DeliveryFault, NotHttpFault } from './faults.ts';

/** Limits interim responses, which could otherwise occupy this process until the time limit. */
const MAX_INTERIM_BYTES = 1024 * 1024;

const START = 'HTTP/';
const STATUS_LINE = /^HTTP\/(\d\.\d)[ \t]+([1-9]\d\d)(?:[ \t].*)?$/;
/** RFC 9110, section 5.6.2. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
/** No body is longer than this, and JavaScript would round larger numbers. */
const LENGTH = /^\d{1,15}$/;
const NO_STATUS = 'its first line has no HTTP version and status of three digits';
const LF = 0x0a;
const CR = 0x0d;

/** The parts of a response's head that matter to the sender. */
export interface ResponseHead {
  statusCode: number;
  /** Where the body ends: after this many bytes, with its last chunk, or with the connection. */
  bodyEnd: number | 'chunked' | 'close';
  /** False if the connection may carry no other request. */
  isReusable: boolean;
  /** How long the receiver keeps an idle connection. Null if it does not say. */
  keepAliveMs: number | null;
}

type Header = [name: string, value: string];

/** The fault of a head that breaks a rule of HTTP. @param reason completes "the answer is not valid HTTP: …" */
const invalidHead = (reason: string) =>
  new DeliveryFault(`the answer is not valid HTTP: ${reason}`);

function headerOf(line: string): Header {
  const colon = line.indexOf(':');
  if (colon === -1) throw invalidHead('a line of its head has no colon');
  const name = line.slice(0, colon);
  if (/[ \t]/.test(name)) throw invalidHead('the name of a header has a blank');
  if (!TOKEN.test(name)) {
    throw invalidHead('the name of a header is empty or has a character that no name has');
  }
  return [name.toLowerCase(), line.slice(colon + 1).trim()];
}

function headersOf(lines: readonly string[]): Header[] {
  const headers: Header[] = [];
  for (const line of lines) {
    const last = headers.at(-1);
    if (!/^[ \t]/.test(line)) headers.push(headerOf(line));
    else if (last === undefined) throw invalidHead('its first header begins with a blank');
    // RFC 9112, section 5.2: a continuation line is part of the value.
    else last[1] += ` ${line.trim()}`;
  }
  return headers;
}

/**
 * RFC 9112, section 6.3. A body with invalid or differing lengths may be read, but the next response cannot be found
 * after it. Only a single valid length makes a connection reusable.
 */
function bodyEndOf(
  lengths: readonly string[],
  codings: readonly string[],
): Pick<ResponseHead, 'bodyEnd' | 'isReusable'> {
  if (codings.length > 0) {
    const isReusable = codings.length === 1 && lengths.length === 0;
    return codings.at(-1) === 'chunked'
      ? { bodyEnd: 'chunked', isReusable }
      : { bodyEnd: 'close', isReusable: false };
  }
  if (lengths.length === 0 || !lengths.every((length) => LENGTH.test(length))) {
    return { bodyEnd: 'close', isReusable: false };
  }
  // The shortest one, because for bytes that never come the sender would wait until its time limit.
  return { bodyEnd: Math.min(...lengths.map(Number)), isReusable: lengths.length === 1 };
}

function parseHead([statusLine = '', ...lines]: readonly string[]): ResponseHead {
  const [, version, status] = STATUS_LINE.exec(statusLine) ?? [];
  if (status === undefined) throw invalidHead(NO_STATUS);
  const headers = headersOf(lines);
  const listOf = (name: string) =>
    headers
      .filter((header) => header[0] === name)
      .flatMap(([, value]) => value.toLowerCase().split(','))
      .map((value) => value.trim());
  const lengths = listOf('content-length');
  const codings = listOf('transfer-encoding');
  const hasNoBody = status === '204' || status === '304';
  const { bodyEnd, isReusable } = hasNoBody
    ? { bodyEnd: 0, isReusable: codings.length === 0 && lengths.every((value) => value === '0') }
    : bodyEndOf(lengths, codings);
  const seconds = /^timeout=(\d+)/.exec(listOf('keep-alive').join(','))?.[1];
  return {
    statusCode: Number(status),
    bodyEnd,
    isReusable: isReusable && version === '1.1' && !listOf('connection').includes('close'),
    keepAliveMs: seconds === undefined ? null : Number(seconds) * 1000,
  };
}

/** The same head without anything that Node's parser could refuse. */
export function plainHeadText({ statusCode, bodyEnd, isReusable }: ResponseHead): string {
  const length =
    bodyEnd === 'chunked' ? 'transfer-encoding: chunked' : `content-length: ${bodyEnd}`;
  return [
    `HTTP/1.1 ${statusCode} `,
    ...(bodyEnd === 'close' ? [] : [length]),
    `connection: ${isReusable ? 'keep-alive' : 'close'}`,
    '\r\n',
  ].join('\r\n');
}

/**
 * Reads the bytes before the body of the final response: any number of interim responses (1xx) and the final head.
 * It accepts whatever is unambiguous by RFC 9112, sections 2 to 5, whatever the head says about the body's length.
 */
export class ResponseHeadReader {
  readonly #maxHeadBytes: number;
  /** Bytes that are not read yet. They begin a line. */
  #unread: Buffer = Buffer.alloc(0);
  #lines: string[] = [];
  #headBytes = 0;
  #interimBytes = 0;
  #hasBegun = false;

  constructor(maxHeadBytes: number) {
    this.#maxHeadBytes = maxHeadBytes;
  }

  /** True once a response has begun to arrive, so that the receiver has read the request. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /**
   * @returns the final head and the bytes after it; undefined until the head is whole
   * @throws NotHttpFault if there is no status line where a response begins
   * @throws DeliveryFault if the head is too large or breaks another rule of HTTP, which it names
   */
  read(chunk: Buffer): { head: ResponseHead; rest: Buffer } | undefined {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    for (let line = this.#nextLine(); line !== undefined; line = this.#nextLine()) {
      if (line !== '') {
        this.#lines.push(line);
        continue;
      }
      const head = parseHead(this.#lines);
      if (head.statusCode >= 200) return { head, rest: this.#unread };
      this.#countInterim(this.#headBytes);
      this.#lines = [];
      this.#headBytes = 0;
    }
    return undefined;
  }

  #nextLine(): string | undefined {
    if (this.#lines.length === 0) this.#findStart();
    const lf = this.#unread.indexOf(LF);
    const cr = this.#unread.indexOf(CR);
    if (lf !== -1 && (cr === -1 || cr > lf)) {
      throw invalidHead('a line of its head ends in LF alone, not in CRLF');
    }
    if (cr !== -1 && cr + 1 < this.#unread.length && lf !== cr + 1) {
      throw invalidHead('its head has a CR that no LF follows');
    }
    const byteCount = lf === -1 ? this.#unread.length : lf + 1;
    if (this.#headBytes + byteCount > this.#maxHeadBytes) {
      throw new DeliveryFault("the answer's headers are too large");
    }
    if (lf === -1) return undefined;
    const line = this.#unread.toString('latin1', 0, cr);
    if (line.includes('\0')) throw invalidHead('its head has a NUL byte');
    this.#unread = this.#unread.subarray(byteCount);
    this.#headBytes += byteCount;
    return line;
  }

  /** Line breaks before a response belong to the previous one. Node's parser ignores them, too. */
  #findStart(): void {
    const start = this.#unread.findIndex((byte) => byte !== CR && byte !== LF);
    const skipped = start === -1 ? this.#unread.length : start;
    this.#countInterim(skipped);
    this.#unread = this.#unread.subarray(skipped);
    const begin = this.#unread.toString('latin1', 0, START.length);
    if (!START.startsWith(begin)) {
      throw this.#hasBegun ? invalidHead(NO_STATUS) : new NotHttpFault();
    }
    this.#hasBegun ||= begin === START;
  }

  #countInterim(byteCount: number): void {
    this.#interimBytes += byteCount;
    if (this.#interimBytes > MAX_INTERIM_BYTES) {
      throw new DeliveryFault('the answer never came after a megabyte of interim answers');
    }
  }
}
