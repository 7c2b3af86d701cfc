import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, createServer } from 'node:net';
import { listenErrorMessage, type ListenAddress } from '../../src/main/process/listen.ts';
import { SetupError } from '../../src/setup-error.ts';
import { portsAfter } from '../config.ts';

/** Where the servers of a run listen, wherever the API does. */
export const LOOPBACK = '127.0.0.1';

/** The URL at which this machine reaches a server that listens on `host`. */
export function localUrl(host: string, port: number): string {
  if (host === '0.0.0.0') return `http://${LOOPBACK}:${port}`;
  if (host === '::') return `http://[::1]:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** What {@link statusOf} returns if a server that accepts connections does not respond. */
export const NO_ANSWER = 'no answer';

/** The status with which a server responds to GET; `connection refused` or `no answer` without one. */
export async function statusOf(url: string, timeoutMs = 3000): Promise<string> {
  // Not fetch: when the server ends the connection of a response whose body is not read, an assertion
  // of Node's own fails, which nothing can catch.
  const request = get(url, { agent: false, signal: AbortSignal.timeout(timeoutMs) });
  // Also after the response: the rest of its body may be cut off.
  request.on('error', () => undefined);
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => undefined).resume();
    return String(response.statusCode);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'
      ? 'connection refused'
      : NO_ANSWER;
  }
}

/** Checks that a port can be listened on. @throws the system's error. */
async function bind(host: string, port: number): Promise<void> {
  const server = createServer();
  const listening = once(server, 'listening'); // Rejects with the 'error' event.
  server.listen({ host, port, exclusive: true });
  await listening;
  server.close();
  await once(server, 'close');
}

/**
 * Reserves a port's number for as long as this process runs: the UDP port with that number is held,
 * which leaves the TCP port to whatever the caller starts there.
 *
 * @throws the system's error, EADDRINUSE if a process has reserved it.
 */
async function reserve(port: number): Promise<void> {
  const socket = createSocket('udp4').unref();
  const listening = once(socket, 'listening'); // Rejects with the 'error' event.
  socket.bind(port, LOOPBACK);
  await listening;
}

/**
 * Finds a free port on the loopback interface, and reserves it: while this process runs, no other
 * caller receives the same one, in whichever process, even before anything listens there.
 *
 * The ports are below the ephemeral ones, so that no outgoing connection takes one meanwhile.
 *
 * @param from the lowest port
 * @param to the port after the highest one
 */
export async function freePort(from = 20_000, to = 32_000): Promise<number> {
  for (;;) {
    const port = randomInt(from, to);
    if (await take(port)) return port;
  }
}

/** Whether a port was free, and is reserved now. */
async function take(port: number): Promise<boolean> {
  try {
    await reserve(port);
    await bind(LOOPBACK, port);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
}

/** Settings that move every port of `npm start` to a free one, reserved as by {@link freePort}. */
export async function freePortSettings(): Promise<{ PORT: string; PORT_OFFSET: string }> {
  for (;;) {
    // The highest of the ports, PostgreSQL's, stays below the ephemeral ones.
    const offset = randomInt(2000, 16_000);
    const taken = await Promise.all(Object.values(portsAfter(offset)).map(take));
    if (taken.every(Boolean)) {
      return { PORT: String(await freePort()), PORT_OFFSET: String(offset) };
    }
  }
}

/** Whether a server accepts connections there. */
export async function acceptsConnections(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect'); // Rejects with the 'error' event.
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function portProblem(wanted: ListenAddress): Promise<string | undefined> {
  try {
    await bind(wanted.host, wanted.port);
    return undefined;
  } catch (error) {
    return listenErrorMessage(wanted, error as NodeJS.ErrnoException);
  }
}

/**
 * Checks, before anything starts, that every port is free.
 *
 * @throws SetupError with one line that names each port in use and its variable.
 */
export async function requireFreePorts(wanted: readonly ListenAddress[]): Promise<void> {
  const twice = wanted.find(({ port }, index) =>
    wanted.slice(0, index).some((other) => other.port === port),
  );
  if (twice !== undefined) {
    const names = wanted.filter(({ port }) => port === twice.port).map(({ variable }) => variable);
    throw new SetupError(`${names.join(' and ')} are all ${twice.port}: each needs its own port`);
  }
  const problems = await Promise.all(wanted.map(portProblem));
  const found = problems.filter((problem) => problem !== undefined);
  if (found.length > 0) throw new SetupError(found.join('; '));
}
