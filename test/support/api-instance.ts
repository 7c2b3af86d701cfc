import { Client } from '@temporalio/client';
import { loadConfig, required } from '../../src/config.ts';
import { connectDatabase } from '../../src/db/client.ts';
import type { Environment } from '../../src/domain/index.ts';
import { startHttpServer } from '../../src/http/server/server.ts';
import type { HttpServerOptions } from '../../src/http/server/server.ts';
import { composeApi } from '../../src/main/compose/compose.ts';
import type { KeyPair } from '../../src/merchants/keys/credentials.ts';
import { createApiClient } from './api-client.ts';
import { keepingLog } from './kept-log.ts';
import type { TestService } from './service.ts';
import { installStoppedClock } from './stopped-clock.ts';
import { UNTIL_MS } from './time-limits.ts';

export type ApiInstance = Awaited<ReturnType<typeof startApiInstance>>;

/**
 * Starts another API with the service's data, in this process: it shares with the service's own API what
 * separate processes share, the database and Temporal. It takes a hundredth of the time of a process.
 *
 * @param overrides settings that differ from the service's
 * @param limits of its HTTP server
 * @param responseTimeoutMs in which it answers; it waits a ninth of that for the limiter that it shares
 */
export async function startApiInstance(
  service: TestService,
  overrides: Record<string, string> = {},
  limits: Partial<HttpServerOptions> = {},
  responseTimeoutMs = UNTIL_MS,
) {
  const config = loadConfig({ ...service.env, ...overrides });
  const sql = connectDatabase(required(config, 'DATABASE_URL'), { name: 'api' });
  const { log, logged } = keepingLog();
  const { connection } = service.temporal.client;
  const temporal = new Client({ connection, namespace: config.temporalNamespace });
  const patience = {
    responseTimeoutMs,
    gatewayTimeoutMs: UNTIL_MS,
  };
  const { app, readiness, background } = await composeApi({
    config,
    sql,
    temporal,
    log,
    ...patience,
  });
  const place = { host: '127.0.0.1', port: 0, readinessGraceMs: 0 };
  const server = await startHttpServer(app, { ...place, ...limits, readiness, log });
  const origin = `http://127.0.0.1:${server.port}`;
  return {
    origin,
    port: server.port,
    /** Warnings and errors so far. */
    logged,
    as: (keys: Record<Environment, KeyPair>, environment: Environment = 'sandbox') =>
      createApiClient(origin, keys[environment], environment),
    async stop() {
      await server.stop();
      await background.finish();
      await sql.end({ timeout: 1 });
    },
  };
}

/** Starts an API that admits so many requests in a second, by a clock that is stopped. */
export async function startLimitedApi(service: TestService, limitPerSecond: number) {
  const { url } = await installStoppedClock({ sql: service.sql, url: service.env.DATABASE_URL });
  return startApiInstance(service, {
    DATABASE_URL: url,
    RATE_LIMIT_STORE: 'postgres',
    RATE_LIMIT_PER_SECOND: String(limitPerSecond),
  });
}
