import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestService } from './service.ts';

const WORKER = join(import.meta.dirname, '../../src/main/worker.ts');

/** A worker in a process of its own, which can be killed in the middle of anything. */
export async function startWorkerProcess({ env }: TestService) {
  const child = spawn(process.execPath, [WORKER], {
    env: { PATH: process.env['PATH'], LOG_LEVEL: 'silent', ...env },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const exited = once(child, 'exit');
  const dead = exited.then(([code]) => Promise.reject(new Error(`The worker ended with ${code}`)));
  await Promise.race([once(child, 'message'), dead]);
  dead.catch(() => {});
  return {
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
