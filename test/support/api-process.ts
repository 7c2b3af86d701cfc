import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../../src/domain/index.ts';
import { startGuard } from '../../dev/processes/guard.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { startServerProcess } from '../../dev/processes/server-process.ts';
import type { KeyPair } from '../../src/merchants/keys/credentials.ts';
import { createApiClient } from './api-client.ts';
import { PART_ENVIRONMENT } from './part-environment.ts';
import type { TestService } from './service.ts';
import { until } from './until.ts';

const entry = fileURLToPath(new URL('../../src/main/api.ts', import.meta.url));

/** A separate API process, `src/main/api.ts`, beside the API inside the test's service. */
export type ApiProcess = Awaited<ReturnType<typeof startApiProcess>>;

/**
 * Starts the process and waits until it responds. It ends when the test's process ends, even if that is killed.
 *
 * @param overrides settings that differ from the service's
 * @param wrapped wraps the command that starts the process; receives its temporary folder
 */
export async function startApiProcess(
  service: TestService,
  overrides: Record<string, string> = {},
  wrapped: (command: string[], folder: string) => string[] = (command) => command,
) {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-api-'));
  const guard = await startGuard([folder]);
  const logFile = join(folder, 'api.log');
  const [file = '', ...args] = wrapped([process.execPath, entry], folder);
  const child = await startServerProcess({
    file,
    args,
    env: {
      ...PART_ENVIRONMENT,
      ...service.env,
      LOG_LEVEL: 'warn',
      PORT: String(port),
      ...overrides,
    },
    logFile,
    stopSteps: [{ signal: 'SIGTERM', waitMs: 12_000 }],
    guard,
  });
  const origin = `http://127.0.0.1:${port}`;
  const answers = () =>
    fetch(`${origin}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(answers);
  return {
    origin,
    port,
    pid: child.pid,
    folder,
    logFile,
    exited: child.exited,
    as: (keys: Record<Environment, KeyPair>, environment: Environment = 'sandbox') =>
      createApiClient(origin, keys[environment], environment),
    /** Kills the process without notice, as a power cut would. */
    async kill() {
      process.kill(child.pid, 'SIGKILL');
      await child.exited;
    },
    async stop() {
      await child.stop();
      await guard.release();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
