import Koa from 'koa';
import type { Logger } from 'pino';
import type { Readiness } from '../http/server/readiness.ts';
import { createReadiness } from '../http/server/readiness.ts';
import type { RunningHttpServer } from '../http/server/server.ts';
import { startHttpServer } from '../http/server/server.ts';
import { addGauge } from './reading.ts';
import type { MetricFamily, Metrics } from './registry.ts';

const ALLOW = 'GET';

/** What the listener serves of its process. */
export interface Served {
  readonly metrics: Metrics;
  /** Whether the process should be kept, or be replaced. */
  readonly isAlive: () => boolean;
  readonly readiness: Readiness;
}

type Page = (ctx: Koa.Context) => Promise<void>;

/**
 * Serves the metrics and the health of this process on a separate port, so that clients of the API
 * cannot read them: `GET /metrics`, `/livez` and `/readyz`.
 *
 * @throws Error when the address cannot be listened on
 */
export function serveMetrics(
  served: Served,
  { host, port, log }: { host: string; port: number; log: Logger },
): Promise<RunningHttpServer> {
  const pages = new Map<string, Page>([
    ['/metrics', metricsPage(served.metrics, log)],
    ['/livez', livenessPage(served.isAlive)],
    ['/readyz', readinessPage(served.readiness)],
  ]);
  const app = new Koa();
  app.use(async (ctx) => {
    const page = pages.get(ctx.path);
    if (!page) return refuse(ctx, 404, 'Not found');
    if (ctx.method !== ALLOW) {
      ctx.set('Allow', ALLOW);
      return refuse(ctx, 405, 'Method not allowed');
    }
    await page(ctx);
  });
  const allowOf = (path: string) => (pages.has(path) ? ALLOW : undefined);
  // The listener answers until the process ends, so that it can say that the process stops.
  const options = { readiness: createReadiness({}), readinessGraceMs: 0 };
  return startHttpServer(
    { callback: () => app.callback(), allowOf },
    { host, port, log, ...options },
  );
}

function metricsPage(metrics: Metrics, log: Logger): Page {
  return async (ctx) => {
    try {
      ctx.body = await metrics.text();
      ctx.set('Content-Type', metrics.contentType);
    } catch (err) {
      log.error({ err }, 'The metrics could not be read');
      refuse(ctx, 500, 'The metrics could not be read');
    }
  };
}

/** That there is an answer shows that the event loop runs. */
function livenessPage(isAlive: () => boolean): Page {
  return async (ctx) => {
    const alive = isAlive();
    ctx.status = alive ? 200 : 503;
    ctx.body = { status: alive ? 'alive' : 'failed' };
  };
}

/** The body is that of the API's `/readyz`: it names what is missing. */
function readinessPage(readiness: Readiness): Page {
  return async (ctx) => {
    const { ready, stopping, checks } = await readiness.check();
    ctx.status = ready ? 200 : 503;
    ctx.body = { status: ready ? 'ready' : stopping ? 'stopping' : 'unavailable', checks };
  };
}

function refuse(ctx: Koa.Context, status: number, message: string): void {
  ctx.status = status;
  ctx.type = 'text/plain';
  ctx.body = `${message}\n`;
}

/**
 * Whether this process is ready, as its `/readyz` says, so that alerts need no other prober.
 *
 * @param part `api` or `worker`
 */
export function readinessMetrics(part: string, readiness: Readiness): MetricFamily {
  return (registry) => {
    const gauge = {
      name: 'ready',
      help: '1 if this process is ready, else 0.',
      labelNames: ['process'],
    };
    addGauge(registry, gauge, readiness.check, ({ ready }) => [[{ process: part }, ready ? 1 : 0]]);
    return () => {};
  };
}
