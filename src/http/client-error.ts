import { STATUS_CODES } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { standardErrorBody } from './errors.ts';
import { COMMON_HEADERS } from './headers.ts';
import { API_VERSION } from './versions.ts';

/** How long a refused caller may still read before the socket is gone. */
const LINGER_MS = 500;

interface RawAnswer {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the parser's complaints mean to the caller; any other one is a malformed request. */
const ANSWERS: Readonly<Record<string, RawAnswer>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'Request headers are larger than 16 KiB' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'Chunk extensions are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive' },
};

const MALFORMED: RawAnswer = { status: 400, message: 'Malformed request' };

/** A whole HTTP/1.1 answer as text: at this point there is no response object to write it. */
function rawAnswer({ status, message, headers }: RawAnswer): string {
  const body = JSON.stringify(standardErrorBody(message, new Date()));
  const lines = Object.entries({
    ...COMMON_HEADERS,
    ...headers,
    'X-API-Version': API_VERSION,
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
function answerAndClose(socket: Duplex, answer: RawAnswer): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
  socket.on('error', () => socket.destroy());
  socket.end(rawAnswer(answer));
}

/** An answer to CONNECT, for which Node gives a bare socket. */
export function refuseConnect(socket: Duplex): void {
  const message = 'Method not allowed';
  answerAndClose(socket, { status: 405, message, headers: { Allow: 'GET, POST, OPTIONS' } });
}

/**
 * Makes the listener for `clientError`: requests that never became requests.
 *
 * @param lastResponse the latest response on a socket: one that has begun cannot be followed by
 *   another answer.
 */
export function createClientErrorListener(
  lastResponse: (socket: Duplex) => ServerResponse | undefined,
) {
  // The parser complains again for every further byte.
  const answered = new WeakSet<Duplex>();
  return (error: NodeJS.ErrnoException, socket: Duplex): void => {
    if (answered.has(socket)) return;
    answered.add(socket);
    const response = lastResponse(socket);
    const hasBegun = response?.headersSent === true;
    const isOver = response?.writableFinished === true && response.req.complete;
    const canAnswer = socket.writable && error.code !== 'ECONNRESET' && (!hasBegun || isOver);
    if (canAnswer) answerAndClose(socket, ANSWERS[error.code ?? ''] ?? MALFORMED);
    else socket.destroy();
  };
}
