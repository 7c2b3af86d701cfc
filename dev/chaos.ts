import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { countOption, flagOption, readCommandLine } from '../src/main/process/command-line.ts';
import { reportText } from './load/oracle/report.ts';
import { startProductionGateway } from './load/production-gateway.ts';
import { freePort, localUrl, LOOPBACK } from './processes/ports.ts';
import { BACK_WITHIN_MS, CHAOS_SETTINGS, runChaos, type ChaosOptions } from './chaos/run.ts';
import { testChecks } from './chaos/self-test.ts';
import { startProductionLike } from './production-like/start.ts';

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

/** What the run says against the service; nothing if it passed. */
async function chaos(dataDir: string, options: ChaosOptions): Promise<string[]> {
  const port = await freePort();
  const gateway = await startProductionGateway(dirname(dataDir), localUrl(LOOPBACK, port));
  const settings = { ...CHAOS_SETTINGS, ...gateway.settings, PORT: String(port) };
  const started = await startProductionLike({ dataDir, settings });
  // Operators and checks read the settings there.
  const environment = { ...started.facts.environment, ...settings };
  const cluster = { ...started, facts: { ...started.facts, environment } };
  try {
    print(`${cluster.members.map(({ name }) => name).join(', ')} run`);
    const { report, backMs, failures, acknowledged } = await runChaos(cluster, options, print);
    print(reportText(report));
    print(`${backMs.length} faults; served again after ${backText(backMs)}`);
    const late = backMs.filter((ms) => ms > BACK_WITHIN_MS).length;
    const untested = values['self-test'] ? await testChecks(cluster, acknowledged, print) : [];
    return [
      ...failures,
      ...untested,
      ...(late > 0 ? [`${late} times later than ${BACK_WITHIN_MS / 1000} s after a fault`] : []),
      ...(report.violations.length > 0 ? [`${report.violations.length} violations`] : []),
    ];
  } finally {
    await cluster.stop();
    await gateway.stop();
  }
}

/** `npm run chaos`: exits with 0 if nothing was lost, doubled or illegal, and each fault was survived. */
async function main(): Promise<number> {
  const startedAt = performance.now();
  const { orders, faults, seed } = values;
  print(
    `${orders} orders, ${faults} faults: npm run chaos -- --orders ${orders} --faults ${faults} --seed ${seed}`,
  );
  const dataDir = await mkdtemp(join(tmpdir(), 'merchant-orders-chaos-'));
  // PostgreSQL does not run as root: its account must be able to enter the folder.
  await chmod(dataDir, 0o755);
  const failures = await chaos(join(dataDir, 'data'), { orders, faults, seed });
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  if (failures.length === 0) {
    await rm(dataDir, { recursive: true, force: true });
    print(`passed in ${minutes} minutes`);
    return 0;
  }
  for (const failure of failures) print(failure);
  print(`failed after ${minutes} minutes; the logs are in ${join(dataDir, 'data', 'logs')}`);
  return 1;
}

process.exit(await main());
