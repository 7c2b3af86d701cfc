import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { ERRORS, standardErrorBody } from './errors.ts';
import { COMMON_HEADERS } from './headers.ts';
import { requestIdFrom } from './request-context.ts';
import { API_VERSION } from './versions.ts';

/** How long a refused caller may still read before the socket is gone. */
const LINGER_MS = 500;

interface RawResponse {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the parser's complaints mean to the caller; any other one is a malformed request. */
const RESPONSES: Readonly<Record<string, RawResponse>> = {
  HPE_HEADER_OVERFLOW: ERRORS.HEADERS_TOO_LARGE,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'Chunk extensions are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: ERRORS.REQUEST_TOO_SLOW,
};

const MALFORMED: RawResponse = { status: 400, message: 'Malformed request' };

/** What the parser says of bytes that are no request, and where in them it stopped. */
type ParserError = NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number };

/** The bytes that the parser refused, as text, from the line in which it stopped. */
function refusedText({ rawPacket, bytesParsed = 0 }: ParserError): string {
  const text = rawPacket?.toString('latin1') ?? '';
  return text.slice(text.lastIndexOf('\n', bytesParsed - 1) + 1);
}

/** A request line that is right but for a method that the parser does not know. */
const REQUEST_LINE = /^[!#$%&'*+.^_`|~A-Za-z0-9-]+ (\/[^\s?]*)\S* HTTP\/1\.[01]\r\n/;

function responseTo(error: ParserError, allowOf: AllowOf): RawResponse {
  const path = REQUEST_LINE.exec(refusedText(error))?.[1];
  if (error.code !== 'HPE_INVALID_METHOD' || path === undefined) {
    return RESPONSES[error.code ?? ''] ?? MALFORMED;
  }
  return methodNotAllowed(allowOf(path));
}

function methodNotAllowed(allow = 'GET, POST, OPTIONS'): RawResponse {
  return { status: 405, message: 'Method not allowed', headers: { Allow: allow } };
}

/** The id that the client gave the request, as far as it arrived. */
function sentRequestId({ rawPacket }: ParserError): string | undefined {
  const [head = ''] = rawPacket?.toString('latin1').split('\r\n\r\n') ?? [];
  return /^x-request-id:[ \t]*(\S*)[ \t]*$/im.exec(head)?.[1];
}

/** A whole HTTP/1.1 answer as text: at this point there is no response object to write it. */
function formatResponse({ status, message, headers }: RawResponse, requestId: string): string {
  const body = JSON.stringify(standardErrorBody(message, new Date()));
  const lines = Object.entries({
    ...COMMON_HEADERS,
    ...headers,
    'X-API-Version': API_VERSION,
    'X-Request-Id': requestId,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    Date: new Date().toUTCString(),
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}

/**
 * Sends the answer and closes. Destroying at once would reset a connection with unread input, and
 * the caller would never see why; waiting for the caller's own end could last for ever.
 */
function respondAndClose(
  socket: Duplex,
  answer: RawResponse,
  { requestId, log }: { requestId: string; log: Logger },
): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
  socket.on('error', () => socket.destroy());
  socket.end(formatResponse(answer, requestId));
  const { status, message } = answer;
  log.info({ requestId, status, reason: message }, 'request');
}

/** An answer to CONNECT, for which Node gives a bare socket. */
export function refuseConnect(request: IncomingMessage, socket: Duplex, log: Logger): void {
  const requestId = requestIdFrom(request.headers['x-request-id']);
  respondAndClose(socket, methodNotAllowed(), { requestId, log });
}

/** What the listener has to know of the application and of the connections. */
interface ClientErrorOptions {
  /**
   * The latest response on a socket: one that has begun cannot be followed by another answer.
   */
  readonly lastResponse: (socket: Duplex) => ServerResponse | undefined;
  readonly allowOf: AllowOf;
  readonly log: Logger;
}

/** The `Allow` of a path; undefined if there is nothing. */
type AllowOf = (path: string) => string | undefined;

/** Makes the listener for `clientError`: requests that never became requests. */
export function createClientErrorListener({ lastResponse, allowOf, log }: ClientErrorOptions) {
  // The parser complains again for every further byte.
  const responded = new WeakSet<Duplex>();
  return (error: ParserError, socket: Duplex): void => {
    if (responded.has(socket)) return;
    responded.add(socket);
    const response = lastResponse(socket);
    const hasBegun = response?.headersSent === true;
    const isOver = response?.writableFinished === true && response.req.complete;
    const canRespond = socket.writable && error.code !== 'ECONNRESET' && (!hasBegun || isOver);
    if (!canRespond) {
      socket.destroy();
      return;
    }
    // A request whose body does not come has its id already; its own answer will not be sent.
    const own = isOver ? undefined : response?.getHeader('X-Request-Id');
    const requestId = requestIdFrom(own === undefined ? sentRequestId(error) : String(own));
    respondAndClose(socket, responseTo(error, allowOf), { requestId, log });
  };
}
