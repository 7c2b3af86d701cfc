import { execFileSync } from 'node:child_process';
import { cpus, release, totalmem, type } from 'node:os';

/** Where and from what a result was made. */
export interface Machine {
  readonly processor: string;
  readonly processors: number;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  /** The commit of this checkout, marked when it has uncommitted changes. */
  readonly commit: string;
}

/** Describes this machine and this checkout. */
export function describeMachine(): Machine {
  const processors = cpus();
  return {
    processor: processors[0]?.model.trim() ?? 'unknown',
    processors: processors.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.version,
    commit: describeCommit(),
  };
}

function describeCommit(): string {
  const args = ['-C', import.meta.dirname, 'describe', '--always', '--dirty'];
  try {
    return execFileSync('git', args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'not a git checkout';
  }
}
