import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  connect,
  constants,
  createSecureServer,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Certificate } from '../../dev/processes/certificates.ts';

/** gRPC's status for a call without valid credentials. */
const UNAUTHENTICATED = '16';

/** What a TLS server in front of Temporal has received. */
export interface ApiKeyProxy {
  /** host:port */
  readonly address: string;
  /** The `authorization` of each call so far. */
  readonly authorizations: (string | undefined)[];
  stop(): Promise<void>;
}

/** Forwards a call with its trailers, which have gRPC's status. */
function forward(
  upstream: ClientHttp2Session,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): void {
  const trailers = Promise.withResolvers<IncomingHttpHeaders>();
  const call = upstream.request({ ...headers, ':scheme': 'http' });
  stream.pipe(call);
  stream.on('close', () => call.close(constants.NGHTTP2_CANCEL));
  stream.on('wantTrailers', () => void trailers.promise.then((sent) => stream.sendTrailers(sent)));
  call.on('trailers', trailers.resolve);
  call.on('error', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  call.on('response', (response, flags) => {
    if (stream.destroyed || stream.closed) return;
    const endStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    stream.respond(response, endStream ? { endStream } : { waitForTrailers: true });
    if (!endStream) call.pipe(stream);
  });
}

/**
 * Starts a server that ends TLS, refuses calls without the API key as Temporal Cloud does, and forwards
 * the others to a plain Temporal server.
 *
 * @param target host:port of that server
 */
export async function startApiKeyProxy(
  target: string,
  apiKey: string,
  { certFile, keyFile }: Certificate,
): Promise<ApiKeyProxy> {
  const authorizations: (string | undefined)[] = [];
  const upstream = connect(`http://${target}`);
  upstream.on('error', () => undefined);
  const sessions = new Set<{ destroy(): void }>();
  const server = createSecureServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) });
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.on('error', () => undefined);
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    const { authorization } = headers;
    authorizations.push(authorization);
    if (authorization !== `Bearer ${apiKey}`) {
      stream.respond(
        {
          ':status': 200,
          'content-type': 'application/grpc',
          'grpc-status': UNAUTHENTICATED,
          'grpc-message': 'Request unauthorized.',
        },
        { endStream: true },
      );
      return;
    }
    forward(upstream, stream, headers);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `localhost:${(server.address() as AddressInfo).port}`,
    authorizations,
    async stop() {
      for (const session of sessions) session.destroy();
      upstream.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
