import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from '../src/setup-error.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { runBenchmark } from './harness/run-benchmark.ts';
import { isGood, reportText, resultText } from './harness/report.ts';
import { readResults, resultsFolder } from './harness/results.ts';

/** Each benchmark is a file that exports `benchmark`. All of them run in this order. */
const BENCHMARKS: Record<string, () => Promise<{ benchmark: Benchmark }>> = {
  get: () => import('./get.ts'),
  create: () => import('./create.ts'),
  webhooks: () => import('./webhooks.ts'),
  lifecycle: () => import('./lifecycle.ts'),
  'order-cost': () => import('./order-cost.ts'),
  memory: () => import('./memory.ts'),
  cache: () => import('./cache.ts'),
  scaling: () => import('./scaling.ts'),
  listing: () => import('./listing.ts'),
  dashboard: () => import('./dashboard.ts'),
  comparison: () => import('./comparison.ts'),
  latency: () => import('./latency.ts'),
  profile: () => import('./profile.ts'),
  'open-orders': () => import('./open-orders.ts'),
};

const [first = '', ...rest] = process.argv.slice(2);
const isNamed = first !== '' && !first.startsWith('--');
const args = isNamed ? rest : process.argv.slice(2);
const isQuick = args.includes('--quick');
const otherArgs = args.filter((arg) => arg !== '--quick');

try {
  process.exit((await (isNamed ? runOne(first) : runAll())) ? 0 : 1);
} catch (error) {
  console.error(error instanceof SetupError ? error.message : error);
  process.exit(1);
}

/** @returns whether every target is met */
async function runOne(name: string): Promise<boolean> {
  const load = BENCHMARKS[name];
  if (!load) {
    throw new SetupError(
      `There is no benchmark ${name}, only ${Object.keys(BENCHMARKS).join(', ')}`,
    );
  }
  const { benchmark } = await load();
  const options = { quick: isQuick, args: otherArgs };
  const result = await runBenchmark(name, benchmark, options);
  console.log(`\n${resultText(result)}`);
  return isGood(result);
}

/** Runs each benchmark in a process of its own, and writes one report of all. */
async function runAll(): Promise<boolean> {
  if (otherArgs.length > 0) throw new SetupError('Without a name, only --quick is accepted');
  const startedAt = new Date().toISOString();
  const folder = resultsFolder({ quick: isQuick, args: [] });
  for (const name of Object.keys(BENCHMARKS)) {
    console.log(`\n${name}`);
    const child = spawn(process.execPath, [import.meta.filename, name, ...args], {
      stdio: 'inherit',
    });
    await once(child, 'exit');
  }
  const results = readResults(folder).filter((result) => result.startedAt >= startedAt);
  const missing = Object.keys(BENCHMARKS).filter(
    (name) => !results.some((one) => one.name === name),
  );
  const report = reportText(results, missing);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'report.txt'), report);
  console.log(`\n${report}`);
  return missing.length === 0 && results.every(isGood);
}
