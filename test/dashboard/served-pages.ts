import { pino } from 'pino';
import { readSession } from '../../src/accounts/public.ts';
import type { PageContext } from '../../src/dashboard/context.ts';
import type { Sql } from '../../src/db/client.ts';
import type { Route } from '../../src/http/define-route.ts';
import { createFileSlots } from '../../src/http/limits/slots.ts';
import { createMemoryRateLimiter } from '../../src/http/limits/rate-limit.ts';
import { serve } from '../api/http-support.ts';

const log = pino({ level: 'silent' });

/** What pages that a test declares get: sessions of the database, and no banners. */
export const pageContext = (
  sql: Sql,
  overrides: Pick<PageContext, 'publicBaseUrl'> & Partial<PageContext>,
): PageContext => ({
  supportEmail: 'help@shop.example',
  rateLimiter: createMemoryRateLimiter({ limitPerSecond: 100_000 }),
  log,
  readSession: (token, isActivity) => readSession({ sql }, token, isActivity),
  readBanners: async () => null,
  downloads: createFileSlots(),
  files: { style: '/style.css', island: '/island.js', icon: '/icon.svg' },
  pathPrefix: '',
  pages: new Map(),
  ...overrides,
});

export const servePages = (routes: readonly Route[], { rateLimiter }: PageContext) =>
  serve({ routes, rateLimiter });
