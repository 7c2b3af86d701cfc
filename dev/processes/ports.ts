import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { listenErrorMessage, type ListenAddress } from '../../src/main/listen.ts';
import { SetupError } from '../../src/setup-error.ts';

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
 * Finds a free port on the loopback interface, below the ephemeral ports, so that no outgoing
 * connection takes it before the caller listens there.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    try {
      await bind('127.0.0.1', port);
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
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
