import { connect as connectTcp, isIP } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { withoutBrackets } from './address-guard.ts';
import { DeliveryFault, secondsText, TimeoutFault } from './faults.ts';
import { resolveAllowed } from './resolve-host.ts';
import type { ResolveOptions } from './resolve-host.ts';

/** How long to wait for an address before the next one is tried. */
const NEXT_ADDRESS_AFTER_MS = 500;

export interface ConnectorOptions extends ResolveOptions {
  /** For the TCP and the TLS handshake together. Resolving the name has its own limit. */
  connectTimeoutMs: number;
  /** The trusted certificates. Requires TLS 1.2 or later. */
  secureContext: SecureContext;
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
  { protocol, hostname, port }: Pick<URL, 'protocol' | 'hostname' | 'port'>,
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
    // SNI allows only names. For an address the certificate is checked against `host`.
    ...(isIP(hostname) === 0 && { servername: hostname }),
  });
}

/** Resolves when the socket can be used. Until then, `signal` closes it. */
async function untilConnected(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  { connectTimeoutMs, signal }: { connectTimeoutMs: number; signal: AbortSignal },
): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const tooLate = new TimeoutFault(`no connection within ${secondsText(connectTimeoutMs)}`);
  const timer = setTimeout(() => socket.destroy(tooLate), connectTimeoutMs);
  const onAbort = () => socket.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  // Never removed, because an error before the next listener would end the process.
  socket.on('error', reject);
  socket.once('close', () => reject(new DeliveryFault('the connection was closed')));
  socket.once(event, () => resolve(socket));
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  });
}

/**
 * Opens a connection that the guard has checked. It resolves a name once and requires that every address is allowed;
 * a literal address is checked in the same way, because Node does not pass it to a `lookup` hook. It connects only
 * to the checked addresses and reads no proxy variable.
 *
 * @param signal closes the connection while it is being made
 * @throws AddressDeniedError when an address is denied
 * @throws DeliveryFault when the name does not resolve or the connection takes too long
 * @throws Error of the socket
 */
export async function connectGuarded(
  target: URL,
  signal: AbortSignal,
  options: ConnectorOptions,
): Promise<Socket> {
  const { protocol, port } = target;
  const hostname = withoutBrackets(target.hostname);
  const addresses = await resolveAllowed(hostname, options);
  signal.throwIfAborted();
  const socket = startConnecting({ protocol, hostname, port }, addresses, options);
  const event = protocol === 'https:' ? 'secureConnect' : 'connect';
  return untilConnected(socket, event, { ...options, signal });
}
