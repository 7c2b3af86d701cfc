import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { StepKind } from '../../src/domain/index.ts';
import { PART_ENVIRONMENT } from './part-environment.ts';
import type { TestService } from './service.ts';

const WORKER = join(import.meta.dirname, '../../src/main/worker.ts');
const WORKER_THAT_DIES = join(import.meta.dirname, 'worker-that-dies.ts');

async function startProcess({ env }: TestService, script: string, ...args: string[]) {
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...PART_ENVIRONMENT, LOG_LEVEL: 'silent', ...env },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const exited = once(child, 'exit');
  const [message] = await Promise.race([once(child, 'message'), exited]);
  if (message !== 'ready') throw new Error(`${script} ended with ${message}`);
  return {
    exited,
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** A worker in a process of its own, which can be killed in the middle of anything. */
export const startWorkerProcess = (service: TestService) => startProcess(service, WORKER);

/** A worker that dies by itself as soon as a step of that kind is in the book. */
export const startWorkerThatDiesAfter = (service: TestService, kind: StepKind) =>
  startProcess(service, WORKER_THAT_DIES, inject('workflowBundlePath'), kind);
