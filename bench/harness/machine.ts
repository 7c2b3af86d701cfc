import { execFileSync } from 'node:child_process';
import { cpus, release, totalmem, type } from 'node:os';
import { cpuMsOf, machineCpuMs } from './cpu-time.ts';

export const processorModel = () => cpus()[0]?.model.trim() ?? 'unknown';

/** This machine: `2 × AMD EPYC, 24 GiB, Linux 6.18.44, Node v24.21.0`. */
export function machineText(): string {
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const system = `${type()} ${release()}, Node ${process.version}`;
  return `${cpus().length} × ${processorModel()}, ${memory}, ${system}`;
}

/** The commit of a checkout, marked when it has uncommitted changes. */
export function commitOf(folder: string): string {
  const args = ['-C', folder, 'describe', '--always', '--dirty'];
  try {
    return execFileSync('git', args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'not a git checkout';
  }
}

/**
 * Begins to measure what everything but this process and its descendants uses of the machine, which
 * disturbs the figures.
 *
 * @returns a function that returns the seconds since then, and the other load in percent of one processor
 */
export function startLoadMeter(): () => { seconds: number; othersPercent: number } {
  const othersMs = () => machineCpuMs() - cpuMsOf({ own: process.pid }).own;
  const before = { time: performance.now(), othersMs: othersMs() };
  return () => {
    const ms = performance.now() - before.time;
    return {
      seconds: ms / 1000,
      othersPercent: (100 * Math.max(0, othersMs() - before.othersMs)) / ms,
    };
  };
}
