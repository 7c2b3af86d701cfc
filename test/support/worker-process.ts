import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { StepKind } from '../../src/domain/index.ts';
import { PART_ENVIRONMENT } from './part-environment.ts';
import type { TestService } from './service.ts';

const WORKER = join(import.meta.dirname, '../../src/main/worker.ts');
const WORKER_THAT_DIES = join(import.meta.dirname, 'worker-that-dies.ts');

interface ProcessOptions {
  args?: string[];
  settings?: Record<string, string>;
  /** An open file for the process's output. */
  output?: number | 'ignore';
}

async function startProcess(
  service: TestService,
  script: string,
  { args = [], settings = {}, output = 'ignore' }: ProcessOptions = {},
) {
  const child = spawn(process.execPath, [script, ...args], {
    env: {
      ...PART_ENVIRONMENT,
      LOG_LEVEL: 'silent',
      WORKFLOW_BUNDLE: inject('workflowBundlePath'),
      ...service.env,
      ...settings,
    },
    stdio: ['ignore', output, output, 'ipc'],
  });
  const exited = once(child, 'exit');
  const [message] = await Promise.race([once(child, 'message'), exited]);
  if (message !== 'ready') throw new Error(`${script} ended with ${message}`);
  return {
    exited,
    /** Stops the process with SIGTERM and returns its exit code. */
    async stop(): Promise<number | null> {
      child.kill('SIGTERM');
      const [code] = (await exited) as [number | null];
      return code;
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** A worker in a separate process, which can be killed at any moment. */
export const startWorkerProcess = (service: TestService, options?: ProcessOptions) =>
  startProcess(service, WORKER, options);

/** When a step is recorded. */
export type DyingPlace = `after ${StepKind}`;

export const startWorkerThatDies = (service: TestService, place: DyingPlace) =>
  startProcess(service, WORKER_THAT_DIES, { args: [inject('workflowBundlePath'), place] });
