import { countOption, flagOption, readCommandLine } from '../src/main/process/command-line.ts';
import { BACK_WITHIN_MS, runChaos } from './faults/chaos.ts';
import { reportText } from './load/oracle/report.ts';

const { values } = readCommandLine({
  usage: 'npm run chaos',
  does: 'Kills, freezes and cuts off the processes of the production-like shape while orders pass through it, and then checks rows, ledger, gateway, webhooks and workflows against each other. It exits with 0 if nothing was lost, doubled or illegal, and each fault was survived.',
  options: {
    orders: countOption(500, 'orders of the run'),
    faults: countOption(20, 'faults, one after the other'),
    seed: countOption((Date.now() % 1_000_000) + 1, 'decides the plan; by default the time'),
    'self-test': flagOption('afterwards changes the data in every known way: each must be found'),
  },
});

const print = (line: string) => process.stdout.write(`${line}\n`);

/** The median and the maximum. */
function backText(backMs: readonly number[]): string {
  const sorted = backMs.toSorted((one, other) => one - other);
  const seconds = (ms = 0) => `${(ms / 1000).toFixed(1)} s`;
  return `${seconds(sorted[Math.floor(sorted.length / 2)])} (median), ${seconds(sorted.at(-1))} at most`;
}

/** `npm run chaos`: exits with 0 if nothing was lost, doubled or illegal, and each fault was survived. */
async function main(): Promise<number> {
  const startedAt = performance.now();
  const { orders, faults, seed, 'self-test': isTested } = values;
  print(
    `${orders} orders, ${faults} faults: npm run chaos -- --orders ${orders} --faults ${faults} --seed ${seed}`,
  );
  const result = await runChaos({ orders, faults, seed, outcome: 'known' }, print, { isTested });
  print(reportText(result.report));
  print(`${result.backMs.length} faults; served again after ${backText(result.backMs)}`);
  const late = result.backMs.filter((ms) => ms > BACK_WITHIN_MS).length;
  const found = result.report.violations.length;
  const failures = [
    ...result.failures,
    ...(late > 0 ? [`${late} times later than ${BACK_WITHIN_MS / 1000} s after a fault`] : []),
    ...(found > 0 ? [`${found} violations`] : []),
  ];
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  for (const failure of failures) print(failure);
  print(`${failures.length === 0 ? 'passed' : 'failed'} in ${minutes} minutes`);
  return failures.length === 0 ? 0 : 1;
}

process.exit(await main());
