import { setTimeout as delay } from 'node:timers/promises';
import type { Memory } from '../memory.ts';
import { moneyAtGateway, simulatorsOf } from '../simulator.ts';
import { readAlerts, type OpenAlerts } from './alerts.ts';
import { compareMails } from './mails.ts';
import { compareMoney } from './money.ts';
import { brokenInvariants } from './money-invariants.ts';
import { ledgerReport } from './ledger.ts';
import { acknowledgedViolations, restViolations, transitionViolations } from './orders.ts';
import { peopleViolations } from './people.ts';
import { violation, violationText, type Counts, type Report, type Violation } from './report.ts';
import { readRows } from './rows.ts';
import type { CheckOf, Compared, CountingCheck } from './compared.ts';
import { withOwner, type Allowed, type CheckedService } from './service.ts';
import { untilNothingIsUnderWay } from './under-way.ts';
import { deliveryViolations, eventViolations } from './webhooks.ts';
import { compareWorkflows } from './workflows.ts';

const CHECKS: readonly CheckOf[] = [
  ({ memory }) =>
    memory.surprises.map(({ subject, fault }) => violation('surprise', subject, fault)),
  acknowledgedViolations,
  transitionViolations,
  restViolations,
  eventViolations,
  deliveryViolations,
  brokenInvariants,
  peopleViolations,
];
const COUNTING_CHECKS: readonly CountingCheck[] = [
  ({ service }) => ledgerReport(service),
  compareMoney,
  compareWorkflows,
  compareMails,
];

/**
 * Compares what merchants, buyers and endpoints remember with the database, the gateway, the ledger and
 * Temporal. Nothing may be under way: see `under-way.ts`. It changes nothing.
 */
export async function checkEverything(
  service: CheckedService,
  memory: Memory,
  allowed: Allowed = {},
): Promise<Report> {
  return withOwner(service, async (sql) => {
    const rows = await readRows(sql);
    const alerts = await readAlerts(sql, allowed);
    const money = (await Promise.all(simulatorsOf(service).map(moneyAtGateway))).flat();
    const compared: Compared = { service, sql, rows, money, memory, allowed, alerts };
    const found = await Promise.all(CHECKS.map(async (check) => check(compared)));
    const counted = await Promise.all(COUNTING_CHECKS.map(async (check) => check(compared)));
    const violations = [...found, ...counted.map((report) => report.violations)].flat();
    const counts: Counts[] = counted.map((report) => report.counts);
    return {
      counts: Object.assign(countsOf(compared), ...counts, alerts.counts) as Counts,
      violations: [...unexplained(violations, alerts), ...alerts.violations],
    };
  });
}

const CHECKED_AGAIN_AFTER_MS = 10_000;

/** How long to wait for a service that is at rest. */
export interface Waits {
  /** Until nothing is under way. */
  readonly quietWithinMs: number;
  /** From then on until there is no violation: something may still have been under way. */
  readonly rightWithinMs: number;
  readonly log: (line: string) => void;
}

/** Waits until nothing is under way, and checks, again and again while there are violations. */
export async function checkWhenQuiet(
  service: CheckedService,
  memory: Memory,
  allowed: Allowed,
  { quietWithinMs, rightWithinMs, log }: Waits,
): Promise<Report> {
  let endsAt = Infinity;
  for (;;) {
    const left = await untilNothingIsUnderWay(service, quietWithinMs, log, allowed);
    endsAt = Math.min(endsAt, performance.now() + rightWithinMs);
    try {
      const { counts, violations } = await checkEverything(service, memory, allowed);
      const all = [...left.filter(({ check }) => check !== 'alert'), ...violations];
      const [first] = all;
      if (!first || performance.now() > endsAt) return { counts, violations: all };
      log(`${all.length} violations, such as ${violationText(first)}; checked again`);
    } catch (error) {
      if (performance.now() > endsAt) throw error;
      log(`${String(error)}; checked again`);
    }
    await delay(CHECKED_AGAIN_AFTER_MS);
  }
}

/** The violations that no alert explains. A total differs by the faults of single orders. */
function unexplained(found: readonly Violation[], { isAbout }: OpenAlerts): Violation[] {
  const isExplained = ({ check, subject, about }: Violation) =>
    check !== 'invariant' && check !== 'people' && [subject, ...about].some(isAbout);
  const left = found.filter((one) => !isExplained(one));
  return left.filter(({ check, isTotal }) => {
    // What the gateway has of a lost order is in its totals alone.
    const checks = check === 'gateway' ? ['gateway', 'lost'] : [check];
    const others = (all: readonly Violation[]) =>
      all.filter((one) => checks.includes(one.check) && !one.isTotal).length;
    return !isTotal || others(left) > 0 || others(found) === 0;
  });
}

function countsOf({ rows: { orders, steps, events }, memory }: Compared): Counts {
  const { orders: known, received, endedRights } = memory;
  const allEvents = [...events.values()].flat();
  const inState = (wanted: string) => allEvents.filter(({ state }) => state === wanted).length;
  return {
    'orders acknowledged': known.filter(({ orderNumbers }) => orderNumbers.size > 0).length,
    'commands acknowledged': known.flatMap(({ commands }) => commands).length,
    'orders in the database': orders.size,
    steps: [...steps.values()].flat().length,
    events: allEvents.length,
    'deliveries DELIVERED': inState('DELIVERED'),
    'deliveries FAILED': inState('FAILED'),
    'rights ended': endedRights.length,
    'uses of ended rights refused': endedRights.reduce((sum, { refused }) => sum + refused, 0),
    'webhooks received': [...received.values()].reduce((sum, { attempts }) => sum + attempts, 0),
  };
}
