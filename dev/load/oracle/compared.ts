import type { Sql } from '../../../src/db/client.ts';
import type { Memory } from '../memory.ts';
import type { GatewayMoney } from '../simulator.ts';
import type { OpenAlerts } from './alerts.ts';
import type { Report, Violation } from './report.ts';
import type { Rows } from './rows.ts';
import type { Allowed, CheckedService } from './service.ts';

/** What the checks compare. */
export interface Compared {
  readonly service: CheckedService;
  /** Connects as the tables' owner. */
  readonly sql: Sql;
  readonly rows: Rows;
  readonly money: readonly GatewayMoney[];
  readonly memory: Memory;
  readonly allowed: Allowed;
  readonly alerts: OpenAlerts;
}

/** A check, which changes nothing. */
export type CheckOf = (compared: Compared) => Violation[] | Promise<Violation[]>;

/** A check that also counts what it compares. */
export type CountingCheck = (compared: Compared) => Report | Promise<Report>;
