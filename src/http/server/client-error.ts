import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import type { ErrorCode } from '../../domain/errors.ts';
import { ERRORS, errorCodeHeader, standardErrorBody } from '../responses/errors.ts';
import { COMMON_HEADERS } from '../responses/response.ts';
import { requestIdFrom } from '../request-context.ts';
import { API_VERSION } from '../versions.ts';

/** The largest head of a request, in bytes. Source: the contract. */
export const MAX_HEADER_BYTES = 16 * 1024;

/** How long the socket stays open for the client to read the error response. */
const LINGER_MS = 500;

interface RawResponse {
  readonly code: ErrorCode;
  /** The message of the code if absent. */
  readonly message?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The response to each error code of the HTTP parser; any other code is a malformed request. */
const RESPONSES: Readonly<Record<string, RawResponse>> = {
  HPE_HEADER_OVERFLOW: { code: 'HEADERS_TOO_LARGE' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    code: 'BODY_TOO_LARGE',
    message: 'Chunk extensions are too large',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { code: 'REQUEST_TOO_SLOW' },
};

const MALFORMED: RawResponse = { code: 'BAD_REQUEST', message: 'Malformed request' };

/** An error of the HTTP parser, with the bytes it read and the position where it stopped. */
type ParserError = NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number };

/** The refused bytes as text, from the start of the line where the parser stopped. */
function refusedText({ rawPacket, bytesParsed = 0 }: ParserError): string {
  const text = rawPacket?.toString('latin1') ?? '';
  return text.slice(text.lastIndexOf('\n', bytesParsed - 1) + 1);
}

const METHOD = /^[!#$%&'*+.^_`|~A-Za-z0-9-]+$/;
const TARGET = /^\/\S*$/;
const VERSION = /^HTTP\/1\.[01]$/;

/** The path of a request line that is valid except for a method that the parser does not know. */
function pathOf(error: ParserError): string | undefined {
  const text = refusedText(error);
  const end = text.indexOf('\r\n');
  if (end === -1 || end > MAX_HEADER_BYTES) return undefined;
  const [method = '', target = '', version = '', ...rest] = text.slice(0, end).split(' ');
  const isValid = METHOD.test(method) && TARGET.test(target) && VERSION.test(version);
  return isValid && rest.length === 0 ? target.split('?', 1)[0] : undefined;
}

function responseTo(error: ParserError, allowOf: AllowOf): RawResponse {
  const { code = '' } = error;
  const path = code === 'HPE_INVALID_METHOD' ? pathOf(error) : undefined;
  if (path === undefined) return RESPONSES[code] ?? MALFORMED;
  return methodNotAllowed(allowOf(path));
}

function methodNotAllowed(allow = 'GET, POST, OPTIONS'): RawResponse {
  return { code: 'METHOD_NOT_ALLOWED', headers: { Allow: allow } };
}

const REQUEST_ID_FIELD = 'x-request-id:';

/** The client's X-Request-Id, if that header has arrived. */
function sentRequestId({ rawPacket }: ParserError): string | undefined {
  const [head = ''] = rawPacket?.toString('latin1').split('\r\n\r\n', 1) ?? [];
  const line = head
    .split('\r\n')
    .find((text) => text.slice(0, REQUEST_ID_FIELD.length).toLowerCase() === REQUEST_ID_FIELD);
  return line?.slice(REQUEST_ID_FIELD.length).trim();
}

/** A whole HTTP/1.1 response as text: Node has no response object at this point. */
function formatResponse(
  { code, message = ERRORS[code].message, headers }: RawResponse,
  requestId: string,
): string {
  const { status } = ERRORS[code];
  const body = JSON.stringify(standardErrorBody(message, new Date()));
  const lines = Object.entries({
    ...COMMON_HEADERS,
    ...headers,
    ...errorCodeHeader(code),
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
 * Sends the response and closes the connection. Destroying the socket immediately would reset a
 * connection with unread input, and the client would not receive the response; a client that never
 * closes its side is disconnected after {@link LINGER_MS}.
 */
function respondAndClose(
  socket: Duplex,
  response: RawResponse,
  { requestId, log }: { requestId: string; log: Logger },
): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
  socket.on('error', () => socket.destroy());
  socket.end(formatResponse(response, requestId));
  const { code, message: reason = ERRORS[code].message } = response;
  log.info({ requestId, status: ERRORS[code].status, reason }, 'request');
}

/** Answers CONNECT with 405. Node passes a bare socket for this method. */
export function refuseConnect(request: IncomingMessage, socket: Duplex, log: Logger): void {
  const requestId = requestIdFrom(request.headers['x-request-id']);
  respondAndClose(socket, methodNotAllowed(), { requestId, log });
}

/** What the listener needs from the application and the connections. */
interface ClientErrorOptions {
  /** The latest response on a socket: no second response may follow one that has begun. */
  readonly lastResponse: (socket: Duplex) => ServerResponse | undefined;
  readonly allowOf: AllowOf;
  readonly log: Logger;
}

/** The `Allow` header of a path; undefined if no route has that path. */
type AllowOf = (path: string) => string | undefined;

/** Creates the listener for `clientError`, which answers bytes that are no valid HTTP request. */
export function createClientErrorListener({ lastResponse, allowOf, log }: ClientErrorOptions) {
  // The parser raises another error for every further chunk of the same socket.
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
    // A request whose body did not arrive already has an id; its response will not be sent.
    const own = isOver ? undefined : response?.getHeader('X-Request-Id');
    const requestId = requestIdFrom(own === undefined ? sentRequestId(error) : String(own));
    respondAndClose(socket, responseTo(error, allowOf), { requestId, log });
  };
}
