import { connect as connectTcp, isIP } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { SecureContext } from 'node:tls';
import type { buildConnector } from 'undici';
import { DeliveryFault, secondsText, TimeoutFault } from './faults.ts';
import { resolveAllowed } from './resolve-host.ts';
import type { ResolveOptions } from './resolve-host.ts';

/** How long to wait for one of several addresses before the next one is tried. */
const NEXT_ADDRESS_AFTER_MS = 500;

/** How connections are made. */
export interface ConnectorOptions extends ResolveOptions {
  /** For the TCP and the TLS handshake together; resolving the name has its own limit. */
  connectTimeoutMs: number;
  /** The trusted certificates; requires TLS 1.2 or later. */
  secureContext: SecureContext;
  /** Closes the connection immediately, while connecting and afterwards. */
  signal: AbortSignal;
}

/** A lookup that returns only addresses that were checked before. */
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
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable it.
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
    // SNI allows only names; for an address the certificate is checked against `host`.
    ...(isIP(hostname) === 0 && { servername: hostname }),
  });
}

function waitForEvent(socket: Socket, event: string, options: ConnectorOptions): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const tooLate = new TimeoutFault(`no connection within ${secondsText(options.connectTimeoutMs)}`);
  const timer = setTimeout(() => socket.destroy(tooLate), options.connectTimeoutMs);
  options.signal.addEventListener('abort', () => socket.destroy(), { once: true });
  // Never removed: an error before undici adds its own listener must not end the process.
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
  return waitForEvent(socket, target.protocol === 'https:' ? 'secureConnect' : 'connect', options);
}

/**
 * A connector for undici that checks every connection: it resolves a name once, treats a literal
 * address the same (Node does not pass one to a `lookup` hook), requires that every address is
 * allowed, and connects only to those. It reads no proxy variable.
 *
 * It fails with `AddressDeniedError`, `DeliveryFault`, or Node's socket error.
 */
export function createGuardedConnector(options: ConnectorOptions): buildConnector.connector {
  return (target, callback) => {
    openSocket(target, options).then(
      (socket) => callback(null, socket),
      (error: unknown) => callback(error as Error, null),
    );
  };
}
