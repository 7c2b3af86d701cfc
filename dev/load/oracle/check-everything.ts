import { setTimeout as delay } from 'node:timers/promises';
import type { Sql } from '../../../src/db/client.ts';
import type { Memory } from '../memory.ts';
import { askSimulator, moneyAtGateway, simulatorsOf } from '../simulator.ts';
import { CHECKS } from './checks.ts';
import { loadFacts } from './facts.ts';
import { ledgerReport } from './ledger.ts';
import { MONEY_CHECKS } from './money-checks.ts';
import { loneActViolations, PEOPLE_CHECKS, roleViolations } from './people-checks.ts';
import { replay, type ComparedOrder } from './replay.ts';
import { violation, violationText, type Counts, type Report, type Violation } from './report.ts';
import { withOwner, type Allowed, type CheckedService } from './service.ts';
import { readAlerts, untilNothingIsUnderWay, type OpenAlerts } from './under-way.ts';
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
  const ledger = await ledgerReport(service);
  const money = await Promise.all(simulatorsOf(service).map(moneyAtGateway));
  return withOwner(service, async (sql) => {
    const alerts = await readAlerts(sql, allowed);
    const orders = await readOrders(sql);
    await loadFacts(sql, { service, memory, money, allowed });
    const violations = [
      ...(await findBySql(sql, service, allowed)),
      ...orders.flatMap(illegalTransitions),
      ...(await loneActViolations(service, sql)),
      ...(await roleViolations(sql)),
      ...(await totalViolations(service, sql)),
      ...ledger.violations,
      ...(await workflowViolations(service, orders, allowed)),
    ];
    return {
      counts: { ...(await countsOf(sql)), ...ledger.counts },
      violations: [...unexplained(violations, alerts), ...alerts.violations],
    };
  });
}

/** Makes all checks that are queries. */
async function findBySql(sql: Sql, { mailboxDataDir }: CheckedService, allowed: Allowed) {
  const found: Violation[] = [];
  for (const { check, sql: query, isMade } of [...CHECKS, ...MONEY_CHECKS, ...PEOPLE_CHECKS]) {
    if (isMade?.(allowed) === false || (check === 'mail' && !mailboxDataDir)) continue;
    const rows = await sql.unsafe<{ subject: string; fault: string; about?: string[] }[]>(query);
    found.push(...rows.map(({ subject, fault, about }) => violation(check, subject, fault, about)));
  }
  return found;
}

const readOrders = (sql: Sql) => sql<ComparedOrder[]>`
  SELECT o.order_number, o.status, o.step_number, terms, x.outcome AS settlement,
    jsonb_agg(jsonb_build_object('step', s.step, 'receivedAtMs',
      floor(extract(epoch FROM c.received_at) * 1000)) ORDER BY s.step_number) AS steps
  FROM orders o JOIN order_steps s USING (order_number)
  LEFT JOIN outside_settlements x USING (order_number)
  LEFT JOIN order_commands c ON c.order_number = s.order_number AND c.command_id = s.command_id
    AND c.state <> 'REFUSED'
  GROUP BY o.order_number, x.outcome`;

function illegalTransitions(order: ComparedOrder): Violation[] {
  const { fault } = replay(order, order.steps);
  return fault === undefined ? [] : [violation('illegal', order.orderNumber, fault)];
}

interface Totals {
  readonly capturedPaise: number;
  readonly feesPaise: number;
  readonly isBalanced: boolean;
}

/** The own totals of the gateways against their payments, and their fees against those in the ledger. */
async function totalViolations(service: CheckedService, sql: Sql): Promise<Violation[]> {
  const all = await Promise.all(
    simulatorsOf(service).map((one) => askSimulator<Totals>(one, 'GET', '/simulator/totals')),
  );
  const [own] = await sql<[{ capturedPaise: number; feesPaise: number }]>`
    SELECT (SELECT coalesce(sum(amount), 0)::bigint FROM captures) AS captured_paise,
      (SELECT coalesce(sum(amount_paise), 0)::bigint FROM ledger_transfers
        WHERE debit_account = 'gateway_fees') AS fees_paise`;
  const capturedPaise = all.reduce((sum, one) => sum + one.capturedPaise, 0);
  const feesPaise = all.reduce((sum, one) => sum + one.feesPaise, 0);
  const faults = [
    !all.every(({ isBalanced }) => isBalanced) && 'the gateway itself does not add up',
    capturedPaise !== own.capturedPaise &&
      `the gateway captured ${capturedPaise} paise, its payments are ${own.capturedPaise}`,
    feesPaise !== own.feesPaise &&
      `the gateway has charged ${feesPaise} paise, the ledger has ${own.feesPaise}`,
  ];
  return faults
    .filter((fault) => fault !== false)
    .map((fault) => violation('gateway', 'totals', fault, [], true));
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

/** What was compared. */
async function countsOf(sql: Sql): Promise<Counts> {
  const [row] = await sql<[{ counts: Counts }]>`
    SELECT jsonb_build_object(
      'orders acknowledged', (SELECT count(order_number) FROM known_orders),
      'commands acknowledged', (SELECT count(*) FROM known_commands),
      'orders in the database', (SELECT count(*) FROM orders),
      'steps', (SELECT count(*) FROM order_steps),
      'deliveries accepted', (SELECT count(*) FROM webhook_deliveries WHERE state = 'DELIVERED'),
      'captures at the gateway', (SELECT count(*) FROM captures),
      'refunds and transfers', (SELECT count(*) FROM refunds) + (SELECT count(*) FROM transfers),
      'uses of ended rights refused', (SELECT coalesce(sum(refused), 0) FROM ended_rights),
      'mails received', (SELECT count(*) FROM arrived_mails)) AS counts`;
  return row.counts;
}
