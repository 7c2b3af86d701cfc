import { cpuMsOf, machineCpuMs } from './cpu-time.ts';
import type { Benchmark, BenchmarkOptions } from './benchmark.ts';
import { describeMachine } from './machine.ts';
import type { Result } from './results.ts';
import { writeResult } from './results.ts';

/**
 * Runs a benchmark and writes its result into a folder. The processes that it starts are descendants of this one:
 * what the machine's CPU time has beyond theirs is other load, which disturbs the figures.
 */
export async function runBenchmark(
  name: string,
  benchmark: Benchmark,
  options: BenchmarkOptions,
  folder: string,
): Promise<Result> {
  const { quick, values } = options;
  const given = Object.entries(values).filter(([, value]) => isGivenValue(value));
  const before = readTimes();
  const startedAt = new Date().toISOString();
  const outcome = await benchmark.run(options);
  const after = readTimes();
  const ms = after.time - before.time;
  const result = {
    name,
    description: benchmark.description,
    command: [
      'npm run bench --',
      name,
      ...(quick ? ['--quick'] : []),
      ...given.map(([option, value]) =>
        value === true ? `--${option}` : `--${option} ${String(value)}`,
      ),
    ].join(' '),
    startedAt,
    seconds: ms / 1000,
    machine: describeMachine(),
    othersPercent:
      (100 * Math.max(0, after.machine - before.machine - (after.own - before.own))) / ms,
    ...outcome,
  };
  writeResult(folder, result);
  return result;
}

/** Whether an option was given: a flag that was not is false. */
export const isGivenValue = (value: unknown) => value !== undefined && value !== false;

/** Milliseconds so far: the time, and the CPU time of the machine and of this process's family. */
function readTimes() {
  const { own } = cpuMsOf({ own: process.pid });
  return { time: performance.now(), machine: machineCpuMs(), own };
}
