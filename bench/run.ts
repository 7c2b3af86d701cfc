import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { CommandOptions } from '../src/main/process/command-line.ts';
import {
  flagOption,
  optionLines,
  readCommandLine,
  refuseCommandLine,
} from '../src/main/process/command-line.ts';
import { SetupError } from '../src/setup-error.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { commitOf, machineText, processorModel, startLoadMeter } from './harness/machine.ts';
import { isGood, resultText, writeResult } from './harness/results.ts';

type Loads = Readonly<Record<string, () => Promise<{ benchmark: Benchmark }>>>;

/** Each benchmark is a file that exports `benchmark`. All of them run in this order. */
const BENCHMARKS: Loads = {
  get: () => import('./get.ts'),
  create: () => import('./create.ts'),
  webhooks: () => import('./webhooks.ts'),
  lifecycle: () => import('./lifecycle.ts'),
  overload: () => import('./overload.ts'),
  'order-cost': () => import('./order-cost.ts'),
  'cold-orders': () => import('./cold-orders.ts'),
  list: () => import('./list.ts'),
  dashboard: () => import('./dashboard.ts'),
};

/** Run only by their names. */
const TOOLS: Loads = { profile: () => import('./profile.ts') };

const USAGE = 'npm run bench';
const QUICK = flagOption('smaller numbers, to try it; the figures are not for documents');

const [first = '', ...rest] = process.argv.slice(2);
try {
  const isGoodRun = await (first === '' || first.startsWith('-') ? runAll() : runOne(first, rest));
  process.exit(isGoodRun ? 0 : 1);
} catch (error) {
  console.error(error instanceof SetupError ? error.message : error);
  process.exit(1);
}

/** Runs one benchmark, prints its result and writes it. @returns whether every target is met */
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
  const startedAt = new Date().toISOString();
  const readMeter = startLoadMeter();
  const outcome = await benchmark.run({ quick, values });
  const result = {
    name,
    description: benchmark.description,
    command: [USAGE, '--', name, ...args].join(' '),
    startedAt,
    ...readMeter(),
    commit: commitOf(import.meta.dirname),
    processor: processorModel(),
    machine: machineText(),
    ...outcome,
  };
  console.log(`\n${resultText(result)}\n${writeResult(result)}`);
  return isGood(result);
}

/** Runs each benchmark in a process of its own. @returns whether every target of all is met */
async function runAll(): Promise<boolean> {
  const command = {
    usage: `${USAGE} -- [NAME]`,
    does: await describeAll(),
    options: { quick: QUICK },
  };
  const { quick } = readCommandLine(command).values;
  const bad: string[] = [];
  for (const name of Object.keys(BENCHMARKS)) {
    const one = [import.meta.filename, name, ...(quick ? ['--quick'] : [])];
    const [code] = await once(spawn(process.execPath, one, { stdio: 'inherit' }), 'exit');
    if (code !== 0) bad.push(name);
  }
  const summary = `Failed or missed a target: ${bad.join(', ')}`;
  console.log(`\n${bad.length === 0 ? 'Every target is met.' : summary}`);
  return bad.length === 0;
}

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
