import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publishedFacts, readDevFacts } from '../dev-facts.ts';
import { startGuard } from '../processes/guard.ts';
import { freePortSettings } from '../processes/ports.ts';
import { findProcesses } from '../processes/process-table.ts';
import { lastLines, startServerProcess, untilReady } from '../processes/server-process.ts';
import { inheritedEnvironment } from '../../src/settings.ts';
import { overridden } from '../config.ts';
import { REPOSITORY } from './entries.ts';

/** The first start on a machine downloads Temporal's command line. */
const START_TIMEOUT_MS = 15 * 60_000;

/**
 * Starts the whole service as `npm start` runs it, with temporary data on free ports, and resolves when it
 * reports that it is ready. It ends when this process ends, even if that is killed.
 *
 * @param repository the checkout whose code runs, by its real path
 */
export async function startWholeService(
  settings: Record<string, string> = {},
  repository = REPOSITORY,
) {
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-whole-'));
  const dataDir = join(folder, 'data');
  const logFile = join(folder, 'npm-start.log');
  const guard = await startGuard([folder]);
  const service = await startServerProcess({
    guard,
    file: process.execPath,
    args: [join(repository, 'dev/start.ts')],
    env: overridden(inheritedEnvironment(), {
      ...(await freePortSettings()),
      DATA_DIR: dataDir,
      DEMO_ORDERS: 'off',
      ...settings,
    }),
    logFile,
    stopSteps: [{ signal: 'SIGTERM', waitMs: 20_000 }],
  });
  const stop = async () => {
    await service.stop();
    await guard.release();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const isReady = () => publishedFacts.read(dataDir) !== undefined;
    const name = 'The service';
    await untilReady(service, { name, logFile, isReady, timeoutMs: START_TIMEOUT_MS });
    const facts = readDevFacts(dataDir);
    const [apiPid] = findProcesses(join(repository, 'src/main/api.ts'), `--run-of=${dataDir}`);
    if (apiPid === undefined) throw new Error('The API process is not to be found');
    const log = (entry: string) => join(dataDir, 'logs', `${entry}.log`);
    return { facts, dataDir, /** The id of the API process. */ apiPid, logFile: log, stop };
  } catch (error) {
    const lines = lastLines(logFile, 10).join('\n');
    await stop();
    throw new Error(`The service did not start:\n${lines}`, { cause: error });
  }
}

/** See {@link startWholeService}. */
export type WholeService = Awaited<ReturnType<typeof startWholeService>>;
