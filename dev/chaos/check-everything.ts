import type { Client } from '@temporalio/client';
import type { AlertKind } from '../../src/alerts/kinds.ts';
import { listAlerts } from '../../src/alerts/alerts.ts';
import type { Sql } from '../../src/db/client.ts';
import { connectDatabase } from '../../src/db/client.ts';
import { connectTemporal } from '../../src/temporal/client.ts';
import type { DevFacts } from '../dev-facts.ts';
import type { Memory } from '../load/memory.ts';
import { simulatorAccessOf } from '../load/simulator.ts';
import { gatewayViolations, ledgerViolations } from './money-checks.ts';
import { acknowledgedViolations, transitionViolations } from './order-checks.ts';
import type { Report, Violation } from './report.ts';
import type { Rows } from './rows.ts';
import { readRows } from './rows.ts';
import { deliveryViolations, eventViolations } from './webhook-checks.ts';
import { workflowViolations } from './workflow-checks.ts';

/** A service whose servers run, as far as the checks need it: a ProductionLike is one. */
export interface CheckedService {
  /** The owner's login. */
  readonly migrationDatabaseUrl: string;
  readonly temporalAddress: string;
  /** The gateway simulator. */
  readonly gatewayUrl: string;
  readonly facts: Pick<DevFacts, 'environment'>;
  /** Temporal was restored from an older copy: final orders may have lost their closed workflows. */
  readonly mayLackClosedWorkflows?: boolean;
}

/**
 * Kinds of alerts that may be open once nothing is under way, and why: none, because the faults of a
 * run are over, and the service clears the alerts whose cause has disappeared.
 */
const ALLOWED_ALERTS: readonly AlertKind[] = [];

const STATEMENT_TIMEOUT_MS = 120_000;
const MOST_ALERTS = 100_000;

/** Runs `work` with a connection as the tables' owner. */
export async function withOwner<Result>(
  { migrationDatabaseUrl }: CheckedService,
  work: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  const sql = connectDatabase(migrationDatabaseUrl, {
    maxConnections: 4,
    name: 'chaos-checks',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Runs `work` with a client of the service's namespace. */
export async function withTemporal<Result>(
  { temporalAddress: address, facts }: CheckedService,
  work: (temporal: Client) => Promise<Result>,
): Promise<Result> {
  const namespace = facts.environment['TEMPORAL_NAMESPACE'] ?? 'default';
  const temporal = connectTemporal({ address, namespace });
  try {
    return await work(temporal);
  } finally {
    await temporal.connection.close();
  }
}

/**
 * Compares what merchants, buyers and endpoints remember with the database, the gateway, the ledger and
 * Temporal. Nothing may be under way: see `under-way.ts`. It changes nothing.
 */
export async function checkEverything(
  service: CheckedService,
  acknowledged: Memory,
): Promise<Report> {
  return withOwner(service, async (sql) => {
    const rows = await readRows(sql);
    const [ledger, gateway, workflows, alerts] = await Promise.all([
      ledgerViolations(sql),
      gatewayViolations(sql, simulatorAccessOf(service), acknowledged),
      withTemporal(service, (temporal) =>
        workflowViolations(temporal, rows, service.mayLackClosedWorkflows ?? false),
      ),
      alertViolations(sql),
    ]);
    return {
      counts: {
        ...countsOf(rows, acknowledged),
        'ledger lines': ledger.lines,
        'captures at the gateway': gateway.captures,
        'refunds and transfers at the gateway': gateway.movements,
        'closed workflows': workflows.closed,
        'running workflows': workflows.running,
      },
      violations: [
        ...acknowledged.surprises.map((one): Violation => ({ check: 'surprise', ...one })),
        ...acknowledgedViolations(acknowledged, rows),
        ...transitionViolations(rows),
        ...eventViolations(rows),
        ...deliveryViolations(acknowledged, rows),
        ...ledger.violations,
        ...gateway.violations,
        ...workflows.violations,
        ...alerts,
      ],
    };
  });
}

async function alertViolations(sql: Sql): Promise<Violation[]> {
  const { alerts } = await listAlerts(sql, {}, MOST_ALERTS);
  return alerts
    .filter(({ kind }) => !(ALLOWED_ALERTS as readonly string[]).includes(kind))
    .map(({ kind, subject, message }) => ({
      check: 'alert',
      subject,
      fault: `the alert ${kind} is open: ${message}`,
    }));
}

function countsOf({ orders, steps, events }: Rows, acknowledged: Memory) {
  const allEvents = [...events.values()].flat();
  const inState = (wanted: string) => allEvents.filter(({ state }) => state === wanted).length;
  const received = [...(acknowledged.received.values() ?? [])];
  return {
    'orders acknowledged': acknowledged.orders.filter(({ orderNumbers }) => orderNumbers.size > 0)
      .length,
    'commands acknowledged': acknowledged.orders.flatMap(({ commands }) => commands).length,
    'orders in the database': orders.size,
    steps: [...steps.values()].flat().length,
    events: allEvents.length,
    'deliveries DELIVERED': inState('DELIVERED'),
    'deliveries FAILED': inState('FAILED'),
    'webhooks received': received.reduce((sum, { attempts }) => sum + attempts, 0),
  };
}
