import { SetupError } from '../../setup-error.ts';

/** An address to listen on, and the environment variable that sets its port. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly variable: string;
}

/** Explains in one line why listening failed, and what to change. */
export function listenErrorMessage(
  { host, port, variable }: ListenAddress,
  error: NodeJS.ErrnoException,
): string {
  if (error.code === 'EADDRINUSE') {
    return `Port ${port} is already in use: stop what uses it, or set ${variable} to another number`;
  }
  if (error.code === 'EACCES') {
    return `Port ${port} needs privileges that this process does not have: set ${variable} to one above 1023`;
  }
  return `Cannot listen on ${host}, port ${port} (${variable}): ${error.message}`;
}

/**
 * Starts a server.
 *
 * @throws SetupError if it cannot listen: one line with the port and its environment variable
 */
export async function listenOn<Server>(
  wanted: ListenAddress,
  start: (place: Pick<ListenAddress, 'host' | 'port'>) => Promise<Server>,
): Promise<Server> {
  try {
    return await start({ host: wanted.host, port: wanted.port });
  } catch (cause) {
    const error = cause as NodeJS.ErrnoException;
    if (error.syscall !== 'listen') throw error;
    throw new SetupError(listenErrorMessage(wanted, error), { cause });
  }
}
