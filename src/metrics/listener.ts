import Koa from 'koa';
import type { Logger } from 'pino';
import { createReadiness } from '../http/readiness.ts';
import type { RunningHttpServer } from '../http/server.ts';
import { startHttpServer } from '../http/server.ts';
import type { Metrics } from './registry.ts';

const PATH = '/metrics';
const ALLOW = 'GET';

/**
 * Serves metrics at `GET /metrics` on a separate port, so that clients of the API cannot read them.
 *
 * @throws Error when the address cannot be listened on
 */
export function serveMetrics(
  metrics: Metrics,
  { host, port, log }: { host: string; port: number; log: Logger },
): Promise<RunningHttpServer> {
  const app = new Koa();
  app.use(async (ctx) => {
    if (ctx.path !== PATH) return refuse(ctx, 404, 'Not found');
    if (ctx.method !== ALLOW) {
      ctx.set('Allow', ALLOW);
      return refuse(ctx, 405, 'Method not allowed');
    }
    try {
      ctx.body = await metrics.text();
      ctx.set('Content-Type', metrics.contentType);
    } catch (err) {
      log.error({ err }, 'The metrics could not be read');
      refuse(ctx, 500, 'The metrics could not be read');
    }
  });
  const allowOf = (path: string) => (path === PATH ? ALLOW : undefined);
  // No load balancer is in front of this listener, so a shutdown needs no grace period.
  const options = { readiness: createReadiness({}), readinessGraceMs: 0 };
  return startHttpServer(
    { callback: () => app.callback(), allowOf },
    { host, port, log, ...options },
  );
}

function refuse(ctx: Koa.Context, status: number, message: string): void {
  ctx.status = status;
  ctx.type = 'text/plain';
  ctx.body = `${message}\n`;
}
