import { required } from '../../config.ts';
import { connectDatabase } from '../../db/client.ts';
import { WAITING_SHARE } from '../../http/limits/deadline.ts';
import {
  createPostgresRateLimiter,
  createSharedRateLimiter,
} from '../../http/limits/rate-limit-shared.ts';
import type { RateLimiter } from '../../http/limits/rate-limit.ts';
import { createMemoryRateLimiter } from '../../http/limits/rate-limit.ts';
import type { Resources } from './resources.ts';

/** A flood of one client waits for the lock of its row: it leaves the connections of all else alone. */
const LIMITER_CONNECTIONS = 2;

/**
 * The limit of merchants' requests: of each process, or one that all API processes share.
 *
 * @throws ConfigError if DATABASE_URL is missing for the latter
 */
export function composeRateLimiter({ config, log, responseTimeoutMs }: Resources): RateLimiter {
  const { rateLimitPerSecond: limitPerSecond, rateLimitStore } = config;
  const own = createMemoryRateLimiter({ limitPerSecond });
  if (rateLimitStore === 'memory') return own;
  const sql = connectDatabase(required(config, 'DATABASE_URL'), {
    name: 'api limiter',
    maxConnections: LIMITER_CONNECTIONS,
  });
  const shared = createPostgresRateLimiter(sql, { limitPerSecond, log });
  const timeoutMs = responseTimeoutMs && responseTimeoutMs * WAITING_SHARE;
  return createSharedRateLimiter({ shared, own, limitPerSecond, log, timeoutMs });
}
