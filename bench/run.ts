import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from '../src/setup-error.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { readOptions, UsageError } from './harness/options.ts';
import { runBenchmark } from './harness/run-benchmark.ts';
import { isGood, reportText, resultText } from './harness/report.ts';
import { readResults, resultsFolder } from './harness/results.ts';

type Loads = Readonly<Record<string, () => Promise<{ benchmark: Benchmark }>>>;

/** Each benchmark is a file that exports `benchmark`. All of them run in this order. */
const BENCHMARKS: Loads = {
  get: () => import('./get.ts'),
  create: () => import('./create.ts'),
  webhooks: () => import('./webhooks.ts'),
  lifecycle: () => import('./lifecycle.ts'),
  'order-cost': () => import('./order-cost.ts'),
  memory: () => import('./memory.ts'),
  'cold-orders': () => import('./cold-orders.ts'),
  list: () => import('./list.ts'),
  dashboard: () => import('./dashboard.ts'),
  repair: () => import('./repair.ts'),
  'open-orders': () => import('./open-orders.ts'),
};

/** Run only by their names; their results are not committed. */
const TOOLS: Loads = { profile: () => import('./profile.ts') };

const COLUMN = 22;
const optionLine = (name: string, text: string) => `  ${`--${name}`.padEnd(COLUMN)}${text}`;
const QUICK = optionLine('quick', 'smaller numbers, to try it; the result is not committed');

const [first = '', ...rest] = process.argv.slice(2);
try {
  const isGoodRun = await (first === '' || first.startsWith('-')
    ? runAll(process.argv.slice(2))
    : runOne(first, rest));
  process.exit(isGoodRun ? 0 : 1);
} catch (error) {
  const isPlain = error instanceof UsageError || error instanceof SetupError;
  console.error(isPlain ? error.message : error);
  process.exit(error instanceof UsageError ? 2 : 1);
}

/** @returns whether every target is met */
async function runOne(name: string, args: readonly string[]): Promise<boolean> {
  const loads = { ...BENCHMARKS, ...TOOLS };
  const load = Object.hasOwn(loads, name) ? loads[name] : undefined;
  if (!load) {
    throw new UsageError(`There is no benchmark ${name}, only ${Object.keys(loads).join(', ')}`);
  }
  const { benchmark } = await load();
  const { quick, help, values } = readOptions(args, Object.keys(benchmark.options ?? {}));
  if (help) {
    console.log(`npm run bench -- ${name} [options]\n\n${benchmark.description}\n`);
    console.log([...optionLines(benchmark), QUICK].join('\n'));
    return true;
  }
  const isLocal = quick || Object.keys(values).length > 0 || Object.hasOwn(TOOLS, name);
  const result = await runBenchmark(name, benchmark, { quick, values }, resultsFolder(isLocal));
  console.log(`\n${resultText(result)}`);
  return isGood(result);
}

/** Runs each benchmark in a process of its own, and writes one report of all. */
async function runAll(args: readonly string[]): Promise<boolean> {
  const { quick, help } = readOptions(args);
  if (help) return printHelp();
  const startedAt = new Date().toISOString();
  const folder = resultsFolder(quick);
  const names = Object.keys(BENCHMARKS);
  for (const name of names) {
    console.log(`\n${name}`);
    const command = [import.meta.filename, name, ...args];
    await once(spawn(process.execPath, command, { stdio: 'inherit' }), 'exit');
  }
  const results = readResults(folder).filter((result) => result.startedAt >= startedAt);
  const missing = names.filter((name) => !results.some((one) => one.name === name));
  const report = reportText(results, missing);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'report.txt'), report);
  console.log(`\n${report}`);
  return missing.length === 0 && results.every(isGood);
}

function optionLines({ options = {} }: Benchmark): string[] {
  return Object.entries(options).map(([name, text]) => optionLine(name, text));
}

/** The names of all, and their options. */
async function printHelp(): Promise<true> {
  const lines = ['npm run bench [-- NAME] [options]', ''];
  for (const [name, load] of Object.entries({ ...BENCHMARKS, ...TOOLS })) {
    const { benchmark } = await load();
    lines.push(`${name.padEnd(COLUMN / 2 + 1)} ${benchmark.description}`);
    lines.push(...optionLines(benchmark));
  }
  lines.push('', QUICK, '', `Without a name, all run but ${Object.keys(TOOLS).join(', ')}.`);
  console.log(lines.join('\n'));
  return true;
}
