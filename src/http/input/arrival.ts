import type { IncomingMessage, ServerResponse } from 'node:http';

/** What an upload may take beyond the limit of every request. Source: the contract. */
const UPLOAD = { blockBytes: 32 * 1024, msPerBlock: 1_000 };

/** How long a request with so many bytes may take to arrive, if it is an upload. */
export function uploadTimeoutMs(limitMs: number, arrivedBytes: number): number {
  return limitMs + Math.floor(arrivedBytes / UPLOAD.blockBytes) * UPLOAD.msPerBlock;
}

/** The body of one request on its way. */
interface Arrival {
  isUpload: boolean;
  onLate: () => void;
}

const arrivals = new WeakMap<IncomingMessage, Arrival>();

/** The body of a request that has to arrive in time. */
interface LimitedArrival {
  readonly limitMs: number;
  /** Since when the request arrives, by `performance.now()`. */
  readonly startedAtMs: number;
  /** Called for a request that took too long, unless the route answers it itself. */
  readonly onLate: () => void;
}

/**
 * Limits the time in which the body of a request arrives, also of one that no route reads. Node's own limit is
 * one for all requests, so it is as long as the largest upload may take.
 */
export function limitArrival(
  request: IncomingMessage,
  response: ServerResponse,
  { limitMs, startedAtMs, onLate }: LimitedArrival,
): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  if (length === '0' && encoding === undefined) return;
  const { socket } = request;
  const bytesBefore = socket.bytesRead;
  const arrival: Arrival = { isUpload: false, onLate };
  arrivals.set(request, arrival);
  const check = () => {
    if (request.complete || socket.destroyed) return end();
    const arrivedBytes = arrival.isUpload ? socket.bytesRead - bytesBefore : 0;
    const leftMs = startedAtMs + uploadTimeoutMs(limitMs, arrivedBytes) - performance.now();
    if (leftMs > 0) timer = setTimeout(check, leftMs);
    else arrival.onLate();
  };
  let timer = setTimeout(check, startedAtMs + limitMs - performance.now());
  const end = () => {
    clearTimeout(timer);
    socket.off('close', end);
  };
  // A refused request is answered before its body has arrived.
  const endIfComplete = () => request.complete && end();
  request.once('end', endIfComplete);
  response.once('close', endIfComplete);
  socket.once('close', end);
}

/** Gives the request more time the more of it has arrived. */
export function allowUpload(request: IncomingMessage): void {
  const arrival = arrivals.get(request);
  if (arrival) arrival.isUpload = true;
}

/** How the bytes of a body ended. */
type BodyEnd = 'complete' | 'tooLarge' | 'tooLate' | 'cutOff';

/** What has arrived of a body, and why it is not more. */
export interface Arrived {
  readonly bytes: Buffer<ArrayBuffer>;
  readonly end: BodyEnd;
}

const received = new WeakMap<IncomingMessage, Promise<Arrived>>();

/**
 * Reads the bytes of a body up to the limit. A second call returns what the first one has read.
 *
 * @param answersLate whether the caller answers a request that arrives too late, in the place of the server
 */
export function receiveBody(
  request: IncomingMessage,
  limitBytes: number,
  answersLate = false,
): Promise<Arrived> {
  const earlier = received.get(request);
  if (earlier) return earlier;
  const { promise, resolve } = Promise.withResolvers<Arrived>();
  received.set(request, promise);
  const chunks: Buffer[] = [];
  let lengthBytes = 0;
  const finish = (end: BodyEnd) => {
    request.off('data', onData);
    request.off('end', onEnd).off('error', onCut).off('close', onCut);
    // Destroying the stream would close the connection before the client has read the response.
    request.resume();
    resolve({ bytes: Buffer.concat(chunks).subarray(0, limitBytes), end });
  };
  const onData = (chunk: Buffer) => {
    chunks.push(chunk);
    lengthBytes += chunk.length;
    if (lengthBytes > limitBytes) finish('tooLarge');
  };
  const onEnd = () => finish('complete');
  const onCut = () => finish('cutOff');
  const arrival = arrivals.get(request);
  if (answersLate && arrival) arrival.onLate = () => finish('tooLate');
  request.on('data', onData).once('end', onEnd).once('error', onCut).once('close', onCut);
  if (request.destroyed) onCut();
  return promise;
}
