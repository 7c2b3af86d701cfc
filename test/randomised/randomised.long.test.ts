import { env } from 'node:process';
import { expect, test } from 'vitest';
import { runChaos } from '../../dev/faults/chaos.ts';
import { countsText, reportText } from '../../dev/load/oracle/report.ts';

const FIRST = Number(env['RANDOM_SEED'] ?? 1);
/** Without a choice, one run restores PostgreSQL, and the other one Temporal. */
const SEEDS =
  env['RANDOM_SEED'] || env['RANDOM_SEEDS']
    ? Array.from({ length: Number(env['RANDOM_SEEDS'] ?? 1) }, (_, index) => FIRST + index)
    : [5, 10];
const ORDERS = Number(env['RANDOM_ORDERS'] ?? 30);

// Most of the time each run waits for retries of the work of a killed process.
test.concurrent.for(SEEDS)(
  `whatever happens to ${ORDERS} orders, each ends or has an alert, and the money adds up: seed %i`,
  async (seed) => {
    const again = `again: RANDOM_SEED=${seed} RANDOM_ORDERS=${ORDERS}`;
    const lines: string[] = [];
    const size = { orders: ORDERS, faults: 0, seed, outcome: 'open' } as const;
    const { report, failures } = await runChaos(size, (line) => lines.push(line));
    const passed = failures.length + report.violations.length === 0;
    const found = [again, ...failures, reportText(report), ...lines].join('\n');
    expect(passed, found).toBe(true);
    console.log(`seed ${seed}: ${countsText(report)}`);
  },
);
