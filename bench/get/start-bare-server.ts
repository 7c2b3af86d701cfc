import { join } from 'node:path';
import { freePort } from '../../dev/processes/ports.ts';
import { startServerProcess } from '../../dev/processes/server-process.ts';
import type { BenchService, Workplace } from '../servers.ts';

/** Starts the smallest server that reads orders: see bare-server.ts. */
export async function startBareServer(
  { config, facts }: BenchService,
  { folder, guard }: Workplace,
) {
  const port = await freePort();
  const server = await startServerProcess({
    file: process.execPath,
    args: [
      join(import.meta.dirname, 'bare-server.ts'),
      config.databaseUrl ?? '',
      String(port),
      facts.environment['PUBLIC_BASE_URL'] ?? '',
    ],
    env: { PATH: process.env['PATH'], NODE_ENV: 'production' },
    logFile: join(folder, 'bare.log'),
    stopSteps: [{ signal: 'SIGTERM', waitMs: 2000 }],
    reportsReady: true,
    guard,
  });
  await server.ready;
  return { url: `http://127.0.0.1:${port}`, pid: server.pid, stop: server.stop };
}
