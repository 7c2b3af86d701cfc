import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { ListenAddress } from '../../src/main/process/listen.ts';
import { localUrl, NO_ANSWER, statusOf } from '../processes/ports.ts';

type Place = Pick<ListenAddress, 'host' | 'port'>;

/** Distributes TCP connections to servers in turn. */
export interface Balancer {
  /** The servers that get new connections. */
  readonly rotation: readonly Place[];
  stop(): Promise<void>;
}

interface Backend extends Place {
  readonly sockets: Set<Socket>;
  /** Its last answer at `/healthz` was 200. */
  alive: boolean;
  /** Its last answer at `/readyz` was 200. */
  ready: boolean;
  /**
   * Checks of `/healthz` without an answer since the last one that had one. A refused connection is an
   * answer: an API that stops accepts no connection and completes the requests that it has.
   */
  silentChecks: number;
}

const LIVENESS_INTERVAL_MS = 250;
const LIVENESS_TIMEOUT_MS = 500;
const READINESS_INTERVAL_MS = 500;
/** `/readyz` waits up to two seconds for the servers behind the API. */
const READINESS_TIMEOUT_MS = 2500;
const CONNECT_TIMEOUT_MS = 1000;

/** A second silent check is not an API that was busy for a moment: its connections are closed. */
const SILENT_CHECKS_TO_DISCONNECT = 2;

async function repeat(signal: AbortSignal, intervalMs: number, check: () => Promise<void>) {
  while (!signal.aborted) {
    await check();
    await delay(intervalMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

/** Keeps `alive`, `silentChecks` and `ready` current. */
function watchHealth(backend: Backend, signal: AbortSignal): void {
  const url = localUrl(backend.host, backend.port);
  void repeat(signal, LIVENESS_INTERVAL_MS, async () => {
    const status = await statusOf(`${url}/healthz`, LIVENESS_TIMEOUT_MS);
    backend.alive = status === '200';
    backend.silentChecks = status === NO_ANSWER ? backend.silentChecks + 1 : 0;
    if (backend.silentChecks < SILENT_CHECKS_TO_DISCONNECT) return;
    for (const socket of backend.sockets) socket.destroy();
  });
  void repeat(signal, READINESS_INTERVAL_MS, async () => {
    backend.ready = (await statusOf(`${url}/readyz`, READINESS_TIMEOUT_MS)) === '200';
  });
}

/** A connection to the server, or undefined when there is none within a second. */
async function connectTo({ host, port }: Place): Promise<Socket | undefined> {
  const socket = connect({ host, port, noDelay: true, allowHalfOpen: true });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
    return socket;
  } catch {
    socket.destroy();
    return undefined;
  }
}

function join(client: Socket, upstream: Socket, { sockets }: Backend): void {
  sockets.add(upstream);
  for (const [socket, peer] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    socket.on('error', () => peer.destroy());
    socket.on('close', () => peer.destroy());
    socket.pipe(peer);
  }
  upstream.on('close', () => sockets.delete(upstream));
  if (client.destroyed) upstream.destroy();
}

/**
 * Starts a balancer of APIs. A server that does not answer at `/healthz`, or whose `/readyz` is not
 * 200, gets no new connection; without a ready one, those that are alive get them, so that a caller
 * gets the API's own answer about what is missing.
 */
export async function startBalancer(place: Place, apis: readonly Place[]): Promise<Balancer> {
  const stopping = new AbortController();
  const backends = apis.map((api): Backend => ({
    ...api,
    sockets: new Set(),
    alive: true,
    ready: false,
    silentChecks: 0,
  }));
  let turn = 0;

  const rotation = (): Backend[] => {
    const alive = backends.filter((backend) => backend.alive);
    const ready = alive.filter((backend) => backend.ready);
    return ready.length > 0 ? ready : alive;
  };
  const clients = new Set<Socket>();
  async function serve(client: Socket): Promise<void> {
    clients.add(client);
    client.on('error', () => client.destroy());
    client.on('close', () => clients.delete(client));
    const candidates = rotation();
    turn += 1;
    for (const index of candidates.keys()) {
      const backend = candidates[(turn + index) % candidates.length];
      const upstream = backend && (await connectTo(backend));
      if (backend && upstream) return join(client, upstream, backend);
    }
    client.destroy();
  }

  const server = createServer(
    { allowHalfOpen: true, noDelay: true, pauseOnConnect: true },
    (client) => void serve(client),
  ).listen(place);
  await once(server, 'listening');
  for (const backend of backends) watchHealth(backend, stopping.signal);
  return {
    get rotation() {
      return rotation().map(({ host, port }) => ({ host, port }));
    },
    async stop() {
      stopping.abort();
      const closed = once(server, 'close');
      server.close();
      for (const client of clients) client.destroy();
      await closed;
    },
  };
}
