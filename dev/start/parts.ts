import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { DevConfig } from '../config.ts';
import type { Guard } from '../processes/guard.ts';
import type { ListenAddress } from '../../src/main/process/listen.ts';
import { startServerProcess, type ServerProcess } from '../processes/server-process.ts';
import { SetupError } from '../../src/setup-error.ts';

/** Where the mailbox listens, wherever the API does. */
export const LOOPBACK = '127.0.0.1';

/** The folder of this checkout. */
const REPOSITORY = join(import.meta.dirname, '../..');

/** A process that `npm start` runs beside the servers. */
export interface Part {
  readonly name: string;
  /** The file that it runs, relative to the repository. */
  readonly entry: string;
  /** It listens here, which is checked before anything starts; its readiness is at the first. */
  readonly ports?: (config: DevConfig) => readonly ListenAddress[];
  /** Without it the part always runs. */
  readonly isWanted?: (config: DevConfig) => boolean;
  /** It is ready when it responds with 200 at this path, or calls `process.send('ready')`. */
  readonly ready: { readonly path: string } | 'message';
}

/** Whether the sandbox uses the simulator: unless a gateway is configured for it. */
export function simulatesGateway({ gateways }: DevConfig): boolean {
  return gateways.sandbox.razorpay === undefined;
}

/** Whether mails stay on this machine: unless an SMTP server is configured. */
export function keepsMails({ mail }: DevConfig): boolean {
  return mail === undefined;
}

/** The processes beside the servers. A new one needs only an entry here. */
const PARTS: readonly Part[] = [
  {
    name: 'API',
    entry: 'src/main/api.ts',
    ports: ({ host, port }) => [{ host, port, variable: 'PORT' }],
    ready: { path: '/readyz' },
  },
  { name: 'Worker', entry: 'src/main/worker.ts', ready: 'message' },
  {
    name: 'Gateway simulator',
    entry: 'dev/gateway-simulator.ts',
    isWanted: simulatesGateway,
    ports: ({ host, gatewaySimulatorPort: port }) => [
      { host, port, variable: 'GATEWAY_SIMULATOR_PORT' },
    ],
    ready: 'message',
  },
  {
    name: 'Mailbox',
    entry: 'dev/mailbox.ts',
    isWanted: keepsMails,
    ports: ({ mailboxPort, mailboxSmtpPort }) => [
      { host: LOOPBACK, port: mailboxPort, variable: 'MAILBOX_PORT' },
      { host: LOOPBACK, port: mailboxSmtpPort, variable: 'MAILBOX_SMTP_PORT' },
    ],
    ready: 'message',
  },
];

/** Shorter than the 15 s of a webhook attempt, so that Ctrl-C does not take that long. */
const STOP_STEPS = [{ signal: 'SIGTERM', waitMs: 4000 }] as const;
const READY_TIMEOUT_MS = 60_000;

/** How processes of this run are started. */
export interface Launcher {
  readonly dataDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly guard: Guard;
}

/** Where an entry point is and what receives its output, when that differs from `npm start`. */
interface EntryPlace {
  /** The folder of another checkout. */
  readonly repository?: string | undefined;
  readonly logFile?: string;
  readonly continueLog?: boolean;
}

/** An argument of each process of this run, by which the next run finds orphans. */
export function runMarker(dataDir: string): string {
  return `--run-of=${dataDir}`;
}

/** The log of an entry point: `src/main/api.ts` writes `logs/api.log`. */
export function logFileOf(dataDir: string, entry: string): string {
  return join(dataDir, 'logs', `${basename(entry, '.ts')}.log`);
}

/** Starts an entry point with the Node of this process. */
export function launchEntry(
  { dataDir, env, guard }: Launcher,
  entry: string,
  { repository = REPOSITORY, logFile = logFileOf(dataDir, entry), continueLog }: EntryPlace = {},
): Promise<ServerProcess> {
  return startServerProcess({
    file: process.execPath,
    args: [join(repository, entry), runMarker(dataDir)],
    env,
    logFile,
    continueLog,
    stopSteps: STOP_STEPS,
    reportsReady: true,
    guard,
  });
}

/** The URL at which this machine reaches a part that listens on `host`. */
export function localUrl(host: string, port: number): string {
  if (host === '0.0.0.0') return `http://127.0.0.1:${port}`;
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

async function waitForOk(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const status = await statusOf(url);
    if (status === '200') return;
    if (signal.aborted) throw new SetupError(`${url} is not ready after a minute: ${status}`);
    await delay(50);
  }
}

/**
 * Waits until a part is ready.
 *
 * @param stop ends the wait.
 * @throws SetupError when it is not ready within a minute, or when stopped.
 */
export async function waitUntilReady(
  part: Part,
  { ready }: ServerProcess,
  config: DevConfig,
  stop: AbortSignal,
): Promise<void> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(READY_TIMEOUT_MS)]);
  const port = part.ports?.(config)[0];
  if (part.ready !== 'message' && port !== undefined) {
    return waitForOk(`${localUrl(port.host, port.port)}${part.ready.path}`, signal);
  }
  const late = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => {
    const log = logFileOf(config.dataDir, part.entry);
    late.reject(new SetupError(`${part.name} is not ready after a minute; its log: ${log}`));
  });
  return Promise.race([ready, late.promise]);
}

/** The parts of a run with these settings. */
export function wantedParts(config: DevConfig): Part[] {
  return PARTS.filter(({ isWanted }) => isWanted?.(config) ?? true);
}
