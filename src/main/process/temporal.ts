import { isIP } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { temporalServerOf, type Config } from '../../config.ts';
import { SetupError } from '../../setup-error.ts';
import { connectTemporal, usesTls, type TemporalServer } from '../../temporal/client.ts';

/**
 * A server that is away is no fault of the settings: the connection is tried again later. Also the longest wait for the
 * first frame, which some proxies send only after the client's.
 */
const HANDSHAKE_TIMEOUT_MS = 5000;

function placeOf(address: string): { host: string; port: number } {
  const separator = address.lastIndexOf(':');
  return { host: address.slice(0, separator), port: Number(address.slice(separator + 1)) };
}

function tlsOptions({ address, tls }: TemporalServer): ConnectionOptions {
  const place = placeOf(address);
  const given = typeof tls === 'object' && tls !== null ? tls : {};
  const { serverNameOverride, serverRootCACertificate: ca, clientCertPair } = given;
  const servername = serverNameOverride ?? (isIP(place.host) ? undefined : place.host);
  return {
    ...place,
    ALPNProtocols: ['h2'],
    ...(servername !== undefined && { servername }),
    ...(ca && { ca: Buffer.from(ca) }),
    ...(clientCertPair && {
      cert: Buffer.from(clientCertPair.crt),
      key: Buffer.from(clientCertPair.key),
    }),
  };
}

interface HandshakeError extends NodeJS.ErrnoException {
  /** What OpenSSL reports, in a few words; its message has several lines. */
  readonly reason?: string;
}

/** The error with which the server or this process ends the handshake, or undefined. */
function handshakeError(socket: TLSSocket): Promise<HandshakeError | undefined> {
  return new Promise((resolve) => {
    socket.setTimeout(HANDSHAKE_TIMEOUT_MS, () => resolve(undefined));
    // The first frame of HTTP/2. With TLS 1.3 a server refuses a client's certificate after the client's handshake.
    socket.on('data', () => resolve(undefined));
    socket.on('error', resolve);
    socket.on('close', () => resolve(undefined));
  });
}

/** The line about a handshake that failed, or undefined when the settings are not the reason. */
function faultOf(
  { authorizationError }: TLSSocket,
  { code = '', message, reason = message }: HandshakeError,
  address: string,
): string | undefined {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `Temporal's certificate at ${address} has another name: set TEMPORAL_TLS_SERVER_NAME to the right one (${reason})`;
  }
  // Set to an error's code, whatever its type says.
  if (authorizationError) {
    return `Temporal's certificate at ${address} cannot be verified: TEMPORAL_TLS_SERVER_CA_CERT_PATH accepts the certificates of its authorities (${reason})`;
  }
  if (/^ERR_SSL_.*ALERT/.test(code)) {
    return `Temporal at ${address} requires a client certificate that it trusts: set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH (${reason})`;
  }
  if (!code.startsWith('ERR_SSL_')) return undefined;
  return `Temporal at ${address} does not accept TLS: set TEMPORAL_TLS to false if it has none (${reason})`;
}

/**
 * Checks that the settings are right for the server's TLS: the SDK would try again without end. Does
 * nothing without TLS, or when the server is away.
 *
 * @throws SetupError in one line with the setting to change
 */
export async function checkTls(server: TemporalServer): Promise<void> {
  if (!usesTls(server)) return;
  const socket = connect(tlsOptions(server));
  const error = await handshakeError(socket);
  const fault = error && faultOf(socket, error, server.address);
  socket.destroy();
  if (fault !== undefined) throw new SetupError(fault, { cause: error });
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+)$/;

/** Whether calls to Temporal leave this machine unencrypted. */
function leavesUnencrypted(server: TemporalServer): boolean {
  return !usesTls(server) && !LOOPBACK.test(placeOf(server.address).host);
}

/**
 * The Temporal server of the settings, and a client of its namespace, which connects on first use.
 *
 * @param options see `connectTemporal`
 * @throws ConfigError, or SetupError when the settings of TLS are wrong for the server
 */
export async function openTemporal(
  config: Config,
  log: Logger,
  options?: Parameters<typeof connectTemporal>[1],
): Promise<{ server: TemporalServer; client: Client }> {
  const server = temporalServerOf(config);
  if (config.nodeEnv === 'production' && leavesUnencrypted(server)) {
    const { address } = server;
    log.warn(
      { address },
      'Temporal is reached without TLS: set TEMPORAL_TLS, unless the network encrypts',
    );
  }
  await checkTls(server);
  const target = { ...server, namespace: config.temporalNamespace };
  return { server, client: connectTemporal(target, options) };
}
