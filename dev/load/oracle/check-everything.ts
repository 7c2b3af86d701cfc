import type { Sql } from '../../../src/db/client.ts';
import type { Memory } from '../memory.ts';
import { moneyAtGateway, simulatorsOf } from '../simulator.ts';
import { CHECKS } from './checks.ts';
import { loadFacts } from './facts.ts';
import { ledgerReport } from './ledger.ts';
import { MONEY_CHECKS } from './money-checks.ts';
import { PEOPLE_CHECKS } from './people-checks.ts';
import { replay, type ComparedOrder } from './replay.ts';
import {
  TOTALS,
  untilRight,
  violation,
  type Check,
  type Counts,
  type Looking,
  type Report,
  type Violation,
} from './report.ts';
import { withOwner, type Allowed, type CheckedService } from './service.ts';
import { readAlerts, underWay } from './under-way.ts';
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
    await loadFacts(sql, memory, money, allowed);
    const violations = [
      ...(await findBySql(sql)),
      ...orders.flatMap(({ orderNumber, terms, steps }) => {
        const { fault } = replay(terms, steps);
        return fault === undefined ? [] : [violation('illegal', orderNumber, fault)];
      }),
      ...ledger.violations,
      ...(await workflowViolations(service, orders, allowed)),
    ];
    return {
      counts: { ...(await countsOf(sql)), ...ledger.counts },
      violations: [...unexplained(violations, alerts.isAbout), ...alerts.violations],
    };
  });
}

/** Makes all checks that are queries. */
async function findBySql(sql: Sql) {
  const found: Violation[] = [];
  const all = [CHECKS, MONEY_CHECKS, PEOPLE_CHECKS].flatMap((checks) => Object.entries(checks));
  for (const [check, queries] of all as [Check, readonly string[]][]) {
    for (const query of queries) {
      const rows = await sql.unsafe<Omit<Violation, 'check'>[]>(query);
      found.push(...rows.map((row) => violation(check, row.subject, row.fault, row.about)));
    }
  }
  return found;
}

const readOrders = (sql: Sql) => sql<ComparedOrder[]>`
  SELECT o.order_number, o.status, o.step_number, terms,
    jsonb_agg(jsonb_build_object('step', s.step, 'receivedAtMs',
      floor(extract(epoch FROM c.received_at) * 1000)) ORDER BY s.step_number) AS steps
  FROM orders o JOIN order_steps s USING (order_number)
  LEFT JOIN order_commands c ON c.order_number = s.order_number AND c.command_id = s.command_id
    AND c.state <> 'REFUSED'
  GROUP BY o.order_number`;

/** Checks everything as soon as nothing is under way, again and again until nothing is found. */
export const checkWhenQuiet = (
  service: CheckedService,
  memory: Memory,
  allowed: Allowed,
  looking: Looking,
): Promise<Report> =>
  untilRight(async () => {
    const violations = await underWay(service, allowed);
    if (violations.length > 0) return { counts: {}, violations };
    return checkEverything(service, memory, allowed);
  }, looking);

/** The violations that no alert explains. A total differs by the faults of single orders. */
function unexplained(
  found: readonly Violation[],
  isAbout: (subject: string) => boolean,
): Violation[] {
  const isExplained = ({ check, subject, about }: Violation) =>
    check !== 'invariant' && check !== 'people' && [subject, ...about].some(isAbout);
  const left = found.filter((one) => !isExplained(one));
  return left.filter(({ check, subject }) => {
    // What the gateway has of a lost order is in its totals alone.
    const checks = check === 'gateway' ? ['gateway', 'lost'] : [check];
    const others = (all: readonly Violation[]) =>
      all.filter((one) => checks.includes(one.check) && one.subject !== TOTALS).length;
    return subject !== TOTALS || others(left) > 0 || others(found) === 0;
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
      'refunds and transfers', (SELECT count(*) FROM refunds) + (SELECT count(*) FROM transfers)) AS counts`;
  return row.counts;
}
