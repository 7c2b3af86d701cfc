import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import type { DevFacts } from '../../dev/dev-facts.ts';
import { startGuard, type Guard } from '../../dev/processes/guard.ts';
import { freePortSettings } from '../../dev/processes/ports.ts';
import { isRunning } from '../../dev/processes/process-table.ts';
import { createApiClient } from '../support/api-client.ts';
import { runNpm, untilReady, type NpmRun } from '../support/npm-run.ts';

/** One `npm start` for the tests of a file, which run in order; begins before the first. @param more settings */
export function npmService(more: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'merchant-orders-npm-start-'));
  const dataDir = join(folder, 'data');
  const runs: NpmRun[] = [];
  let guard: Guard | undefined;
  let settings: Record<string, string> = {};
  let running: { service: NpmRun; facts: DevFacts } | undefined;

  async function start(): Promise<void> {
    const service = runNpm(['start'], settings);
    const { pid, ended } = service;
    runs.push(service);
    guard?.watch(pid, 'SIGTERM');
    void ended.then(() => guard?.unwatch(pid));
    running = { service, facts: await untilReady(service, dataDir) };
  }

  beforeAll(async () => {
    guard = await startGuard([folder]);
    const WORKFLOW_BUNDLE = inject('workflowBundlePath');
    settings = {
      ...(await freePortSettings()),
      WORKFLOW_BUNDLE,
      DATA_DIR: dataDir,
      SWEEP_AFTER_SECONDS: '2',
      RATE_LIMIT_PER_SECOND: '1000',
      ...more,
    };
    await start();
  });
  afterAll(async () => {
    await Promise.all(runs.map((run) => run.stop()));
    await guard?.release();
    await rm(folder, { recursive: true, force: true });
  });

  const service = () => running!.service;
  const facts = () => running!.facts;
  return {
    folder,
    dataDir,
    start,
    settings: () => settings,
    /** The latest run. */
    service,
    /** What the latest run wrote to dev.json. */
    facts,
    sandbox: () => createApiClient(facts().apiBaseUrl, facts().demoMerchant.sandbox, 'sandbox'),
  };
}

/** Waits until none of these processes runs. */
export const untilGone = (pids: readonly number[]) =>
  expect.poll(() => pids.filter(isRunning)).toEqual([]);
