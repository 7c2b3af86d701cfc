import { setTimeout as delay } from 'node:timers/promises';
import type { Memory } from '../memory.ts';
import { moneyAtGateway, simulatorsOf } from '../simulator.ts';
import { readAlerts, type OpenAlerts } from './alerts.ts';
import { compareMails } from './mails.ts';
import { gatewayViolations, ledgerViolations } from './money.ts';
import { acknowledgedViolations, restViolations, transitionViolations } from './orders.ts';
import { peopleViolations } from './people.ts';
import type { Report, Violation } from './report.ts';
import type { Rows } from './rows.ts';
import { readRows } from './rows.ts';
import { untilNothingIsUnderWay } from './under-way.ts';
import { withOwner, withTemporal, type Allowed, type CheckedService } from './service.ts';
import { deliveryViolations, eventViolations } from './webhooks.ts';
import { workflowViolations } from './workflows.ts';

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
    const gateways = simulatorsOf(service);
    const money = (await Promise.all(gateways.map(moneyAtGateway))).flat();
    const [ledger, gateway, people, workflows, mails] = await Promise.all([
      ledgerViolations(service),
      gatewayViolations(sql, gateways, money, { memory, allowed, alerts }),
      peopleViolations(service, sql, money, { memory, allowed }),
      withTemporal(service, (temporal) => workflowViolations(temporal, rows, allowed)),
      compareMails(service, sql, rows),
    ]);
    const found = [
      ...memory.surprises.map((one): Violation => ({ check: 'surprise', ...one })),
      ...acknowledgedViolations(memory, rows, allowed),
      ...transitionViolations(rows),
      ...restViolations(rows, allowed),
      ...eventViolations(rows),
      ...deliveryViolations(memory, rows, allowed),
      ...ledger.violations,
      ...gateway.violations,
      ...people,
      ...workflows.violations,
      ...mails.violations,
    ];
    return {
      counts: {
        ...countsOf(rows, memory),
        'ledger lines': ledger.lines,
        'captures at the gateway': gateway.captures,
        'refunds and transfers at the gateway': gateway.movements,
        'closed workflows': workflows.closed,
        'running workflows': workflows.running,
        ...mails.counts,
        ...alerts.counts,
      },
      violations: [...unexplained(found, alerts), ...alerts.violations],
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
      if (all.length === 0 || performance.now() > endsAt) return { counts, violations: all };
      log(`${all.length} violations, such as ${textOf(all[0])}; checked again`);
    } catch (error) {
      if (performance.now() > endsAt) throw error;
      log(`${String(error)}; checked again`);
    }
    await delay(CHECKED_AGAIN_AFTER_MS);
  }
}

const textOf = (one: Violation | undefined) => `${one?.check}: ${one?.subject}: ${one?.fault}`;

/** The violations that no alert explains. A total differs by the faults of single orders. */
function unexplained(found: readonly Violation[], { isAbout }: OpenAlerts): Violation[] {
  const isExplained = ({ check, subject, about = [] }: Violation) =>
    check !== 'invariant' && check !== 'people' && [subject, ...about].some(isAbout);
  const left = found.filter((one) => !isExplained(one));
  return left.filter(({ check, isTotal }) => {
    const others = (all: readonly Violation[]) =>
      all.filter((one) => one.check === check && one.isTotal !== true).length;
    return isTotal !== true || others(left) > 0 || others(found) === 0;
  });
}

function countsOf({ orders, steps, events }: Rows, memory: Memory) {
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
