import { connect as connectTcp, isIP } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { SecureContext } from 'node:tls';
import type { buildConnector } from 'undici';
import { DeliveryFault, secondsText, TimeoutFault } from './faults.ts';
import { resolveAllowed } from './resolve-host.ts';
import type { ResolveOptions } from './resolve-host.ts';

/** How long one of several addresses may keep silent before the next one is tried. */
const NEXT_ADDRESS_AFTER_MS = 500;

export interface ConnectorOptions extends ResolveOptions {
  /** For the TCP and the TLS handshake together; resolving the name has its own limit. */
  connectTimeoutMs: number;
  /** Says which certificates are trusted, and that TLS is 1.2 or later. */
  secureContext: SecureContext;
  /** Ends a connection that is being made, or is open, at once. */
  signal: AbortSignal;
}

/** A lookup that only ever says what has already been checked. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, callback) => {
    const [first] = answers;
    if (options.all || first === undefined) callback(null, answers);
    else callback(null, first.address, first.family);
  };
}

function startConnecting(
  { protocol, hostname, port }: buildConnector.Options,
  addresses: readonly string[],
  { secureContext }: ConnectorOptions,
): Socket {
  const isTls = protocol === 'https:';
  const target = {
    host: hostname,
    port: Number(port || (isTls ? 443 : 80)),
    lookup: pinnedTo(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    noDelay: true,
  };
  if (!isTls) return connectTcp(target);
  return connectTls({
    ...target,
    secureContext,
    // Said outright, so that NODE_TLS_REJECT_UNAUTHORIZED cannot switch it off.
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
    // SNI carries names only; for an address the certificate is checked against `host`.
    ...(isIP(hostname) === 0 && { servername: hostname }),
  });
}

function untilReady(socket: Socket, event: string, options: ConnectorOptions): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const tooLate = new TimeoutFault(`no connection within ${secondsText(options.connectTimeoutMs)}`);
  const timer = setTimeout(() => socket.destroy(tooLate), options.connectTimeoutMs);
  options.signal.addEventListener('abort', () => socket.destroy(), { once: true });
  // Stays for the socket's life: an error between here and undici's own listener is not fatal.
  socket.on('error', reject);
  socket.once('close', () => reject(new DeliveryFault('the connection was closed')));
  socket.once(event, () => resolve(socket));
  return promise.finally(() => clearTimeout(timer));
}

async function openSocket(
  target: buildConnector.Options,
  options: ConnectorOptions,
): Promise<Socket> {
  const addresses = await resolveAllowed(target.hostname, options);
  options.signal.throwIfAborted();
  const socket = startConnecting(target, addresses, options);
  return untilReady(socket, target.protocol === 'https:' ? 'secureConnect' : 'connect', options);
}

/**
 * A connector for undici that makes every connection pass the guard: a name is resolved once, a
 * literal address takes the same way (Node never shows it to a `lookup` hook), every address must
 * be allowed, and the socket goes to one of those and nowhere else. No proxy variable is read.
 *
 * It fails with `AddressDeniedError`, `DeliveryFault`, or Node's own error of the socket.
 */
export function createGuardedConnector(options: ConnectorOptions): buildConnector.connector {
  return (target, callback) => {
    openSocket(target, options).then(
      (socket) => callback(null, socket),
      (error: unknown) => callback(error as Error, null),
    );
  };
}
