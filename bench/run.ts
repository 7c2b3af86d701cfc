import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandOptions } from '../src/main/process/command-line.ts';
import {
  flagOption,
  optionLines,
  readCommandLine,
  refuseCommandLine,
} from '../src/main/process/command-line.ts';
import { SetupError } from '../src/setup-error.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { isGivenValue, runBenchmark } from './harness/run-benchmark.ts';
import { isGood, reportText, resultText } from './harness/report.ts';
import { readResults, resultsFolder } from './harness/results.ts';

type Loads = Readonly<Record<string, () => Promise<{ benchmark: Benchmark }>>>;

/** Each benchmark is a file that exports `benchmark`. All of them run in this order. */
const BENCHMARKS: Loads = {
  get: () => import('./get.ts'),
  create: () => import('./create.ts'),
  webhooks: () => import('./webhooks.ts'),
  lifecycle: () => import('./lifecycle.ts'),
  overload: () => import('./overload.ts'),
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

const USAGE = 'npm run bench';
const QUICK = flagOption('smaller numbers, to try it; the result is not committed');

const [first = '', ...rest] = process.argv.slice(2);
try {
  const isGoodRun = await (first === '' || first.startsWith('-') ? runAll() : runOne(first, rest));
  process.exit(isGoodRun ? 0 : 1);
} catch (error) {
  console.error(error instanceof SetupError ? error.message : error);
  process.exit(1);
}

/** @returns whether every target is met */
async function runOne(name: string, args: string[]): Promise<boolean> {
  const loads = { ...BENCHMARKS, ...TOOLS };
  const load = Object.hasOwn(loads, name) ? loads[name] : undefined;
  if (!load) {
    const names = Object.keys(loads).join(', ');
    return refuseCommandLine(USAGE, `There is no benchmark ${name}, only ${names}`);
  }
  const { benchmark } = await load();
  const command = {
    usage: `${USAGE} -- ${name}`,
    does: benchmark.description,
    options: { ...benchmark.options, quick: QUICK },
  };
  const { quick, ...values } = readCommandLine<CommandOptions & { quick: typeof QUICK }>(
    command,
    args,
  ).values;
  const isGiven = Object.values(values).some(isGivenValue);
  const isLocal = quick || isGiven || Object.hasOwn(TOOLS, name);
  const result = await runBenchmark(name, benchmark, { quick, values }, resultsFolder(isLocal));
  console.log(`\n${resultText(result)}`);
  return isGood(result);
}

/** Runs each benchmark in a process of its own, and writes one report of all. */
async function runAll(): Promise<boolean> {
  const command = {
    usage: `${USAGE} -- [NAME]`,
    does: await describeAll(),
    options: { quick: QUICK },
  };
  const { quick } = readCommandLine(command).values;
  const startedAt = new Date().toISOString();
  const folder = resultsFolder(quick);
  const names = Object.keys(BENCHMARKS);
  for (const name of names) {
    console.log(`\n${name}`);
    const one = [import.meta.filename, name, ...(quick ? ['--quick'] : [])];
    await once(spawn(process.execPath, one, { stdio: 'inherit' }), 'exit');
  }
  const results = readResults(folder).filter((result) => result.startedAt >= startedAt);
  const missing = names.filter((name) => !results.some((one) => one.name === name));
  const report = reportText(results, missing);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'report.txt'), report);
  console.log(`\n${report}`);
  return missing.length === 0 && results.every(isGood);
}

/** The names of all, and their options. */
async function describeAll(): Promise<string> {
  const lines: string[] = [];
  for (const [name, load] of Object.entries({ ...BENCHMARKS, ...TOOLS })) {
    const { benchmark } = await load();
    lines.push(`${name.padEnd(12)} ${benchmark.description}`);
    lines.push(...optionLines(benchmark.options ?? {}));
  }
  const tools = Object.keys(TOOLS).join(', ');
  return [...lines, '', `Without a name, all run but ${tools}.`].join('\n');
}
