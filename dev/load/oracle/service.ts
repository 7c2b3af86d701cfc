import type { Client } from '@temporalio/client';
import type { Sql } from '../../../src/db/client.ts';
import { connectDatabase } from '../../../src/db/client.ts';
import { connectTemporal } from '../../../src/temporal/client.ts';

/** A service whose servers run, as far as the checks need it. */
export interface CheckedService {
  /** The owner's login. */
  readonly migrationDatabaseUrl: string;
  /** The settings of the service and of the operators' command line. */
  readonly environment: Readonly<Record<string, string>>;
}

/** A time of which something was lost by a restore. Unix milliseconds. */
export interface LostTime {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What a run allows; by default nothing of it. */
export interface Allowed {
  /**
   * Alerts that only an operator can end may be open, and explain the faults of the orders and payments that
   * they name, except broken invariants of money.
   */
  readonly alerts?: boolean;
  /** What the service's database got between these times was lost by a restore. */
  readonly lost?: readonly LostTime[];
  /** Temporal was restored from an older copy: final orders may have lost their closed workflows. */
  readonly missingWorkflows?: boolean;
  /**
   * The outcome of the run is open. A payment may wait for its hold: a transfer that the gateway failed is made again an
   * hour later. The helper `pay` may be refused and pay later: the gateway captures a payment that it only authorized.
   * Deadlines pass within the run: an order that is not final must be ACCEPTED or PAID at its end.
   */
  readonly isOpen?: boolean;
}

const STATEMENT_TIMEOUT_MS = 120_000;

/** Runs `work` with a connection as the tables' owner. */
export async function withOwner<Result>(
  { migrationDatabaseUrl }: CheckedService,
  work: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  const sql = connectDatabase(migrationDatabaseUrl, {
    // The checks have temporary tables.
    maxConnections: 1,
    name: 'oracle',
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
  { environment }: CheckedService,
  work: (temporal: Client) => Promise<Result>,
): Promise<Result> {
  const temporal = connectTemporal({
    address: environment['TEMPORAL_ADDRESS'] ?? '',
    namespace: environment['TEMPORAL_NAMESPACE'] ?? 'default',
  });
  try {
    return await work(temporal);
  } finally {
    await temporal.connection.close();
  }
}
