import { SetupError } from '../setup-error.ts';

/** A port that a part wants to listen on, and the setting that moves it. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly variable: string;
}

/** One line that says why nothing can listen on the port, and what to do. */
export function listenErrorMessage(
  { host, port, variable }: ListenAddress,
  error: NodeJS.ErrnoException,
): string {
  if (error.code === 'EADDRINUSE') {
    return `Port ${port} is already in use: stop what uses it, or set ${variable} to another port`;
  }
  if (error.code === 'EACCES') {
    return `Port ${port} needs privileges that this process does not have: set ${variable} to one above 1023`;
  }
  return `Cannot listen on ${host}, port ${port} (${variable}): ${error.message}`;
}

/**
 * Starts what listens on a port.
 *
 * @throws SetupError with one line that names the port and the variable that moves it
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
