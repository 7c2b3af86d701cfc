import { createReports } from '../reports.ts';
import type { Logger } from 'pino';
import type postgres from 'postgres';
import type { Actor } from '../db/actor.ts';
import type { Sql } from '../db/client.ts';
import type { AlertKind } from './kinds.ts';
import { ALERT_KINDS } from './kinds.ts';

export interface AlertDeps {
  sql: Sql;
  log: Logger;
}

export interface NewAlert {
  kind: AlertKind;
  /** What the alert is about: an order number, a gateway payment id, … */
  subject: string;
  /** What has happened, in one sentence. */
  message: string;
  /** More facts, such as `orderNumber`, for the log line and the row. */
  fields?: Readonly<Record<string, string | number | null>>;
  error?: unknown;
}

/** Reports the kind of each alert that this process raises, for metrics. */
const RAISED = createReports<AlertKind>('alert-raised');

/** Calls `listener` for each alert that this process raises. @returns a function that unsubscribes */
export const onAlertRaised = RAISED.subscribe;

/**
 * Raises an alert: writes a log line each time, and one row for each kind and subject until it is
 * cleared. Never throws: the caller must not fail because of it, and the log line is written even
 * when the database is unavailable.
 */
export async function raiseAlert(deps: AlertDeps, alert: NewAlert): Promise<void> {
  const { sql, log } = deps;
  const { kind, subject, error } = alert;
  reportAlert(deps, alert);
  const reason = error instanceof Error ? { error: error.message } : {};
  const details = { ...detailsOf(alert), ...reason };
  try {
    await sql`SELECT raise_alert(${kind}, ${subject}, ${sql.json(details)})`;
  } catch (cause) {
    log.warn({ err: cause, alert: kind, subject }, 'The alert could not be recorded');
  }
}

/** Writes the log line of an alert whose row another statement has written, with the SQL function `raise_alert`. */
export function reportAlert(
  { log }: Pick<AlertDeps, 'log'>,
  { kind, subject, message, fields, error }: NewAlert,
): void {
  const err = error === undefined ? {} : { err: error };
  log.error({ alert: kind, subject, ...fields, ...err }, message);
  RAISED.publish(kind);
}

/** The `details` of an alert's row. */
export const detailsOf = ({ message, fields }: Pick<NewAlert, 'message' | 'fields'>) =>
  ({ message, ...fields }) satisfies postgres.JSONValue;

/** The `cleared_by` of alerts that no operator clears. */
const SERVICE = 'service';

/**
 * Clears the open alerts of some kinds about one subject or several, because their cause is resolved.
 *
 * @param reason how the cause was resolved, as a clause: `the funds are on hold`
 * @param options.clearedBy the operator who resolved it; otherwise the service
 * @param options.before the database's time from before the look that found it resolved: an alert that has been raised
 * since stays open
 */
export async function clearAlert(
  sql: Sql,
  kinds: AlertKind | readonly AlertKind[],
  subject: string | readonly string[],
  reason: string,
  { clearedBy = SERVICE, before }: { clearedBy?: string; before?: string } = {},
): Promise<void> {
  await sql`
    UPDATE alerts
    SET cleared_at = clock_timestamp(), cleared_by = ${clearedBy}, cleared_reason = ${reason}
    WHERE kind = ANY(${[kinds].flat()}) AND subject = ANY(${[subject].flat()})
      AND last_at <= coalesce(${before ?? null}::text::timestamptz, 'infinity') AND cleared_at IS NULL`;
}

/** Lists the subjects of the open alerts of one kind, of a range of subjects that are ordered by bytes. */
export async function openSubjects(
  sql: Sql,
  kind: AlertKind,
  { after, upTo }: { after: string; upTo: string },
): Promise<string[]> {
  const alerts = await sql<{ subject: string }[]>`
    SELECT subject FROM alerts
    WHERE kind = ${kind} AND subject COLLATE "C" > ${after} AND subject COLLATE "C" <= ${upTo}
      AND cleared_at IS NULL`;
  return alerts.map(({ subject }) => subject);
}

/**
 * Clears the open alerts whose condition no longer holds: those of the view `resolved_alerts`.
 *
 * @returns how many it has cleared
 */
export async function clearResolvedAlerts(sql: Sql): Promise<number> {
  const { count } = await sql`
    UPDATE alerts a
    SET cleared_at = clock_timestamp(), cleared_by = ${SERVICE}, cleared_reason = m.reason
    -- It may have been raised again since it was read.
    FROM resolved_alerts m JOIN alerts seen USING (alert_id)
    WHERE a.alert_id = m.alert_id AND a.cleared_at IS NULL AND a.last_at = seen.last_at`;
  return count;
}

export interface Alert {
  alertId: number;
  kind: string;
  subject: string;
  count: number;
  firstAt: Date;
  lastAt: Date;
  message: string;
  details: Record<string, unknown>;
  /** What an operator does about it: see {@link ALERT_KINDS}. */
  remedy: string;
  clearedAt: Date | null;
  /** `service`, or the operator's name. */
  clearedBy: string | null;
  clearedReason: string | null;
}

export interface AlertFilter {
  alertId?: number | undefined;
  kind?: string | undefined;
  subject?: string | undefined;
  /** Open ones if absent. */
  show?: 'open' | 'cleared' | 'all';
  /** The id of the last alert of the previous page. */
  before?: number | undefined;
}

/** Lists alerts, the latest first. @returns at most `limit`, and whether there are more */
export async function listAlerts(
  sql: Sql,
  { alertId, kind, subject, show = 'open', before }: AlertFilter,
  limit: number,
): Promise<{ alerts: Alert[]; hasMore: boolean }> {
  const rows = await sql<Omit<Alert, 'remedy'>[]>`
    SELECT alert_id, kind, subject, count, first_at, last_at,
      details->>'message' AS message, details, cleared_at, cleared_by, cleared_reason
    FROM alerts
    WHERE ${show === 'all' ? sql`true` : show === 'open' ? sql`cleared_at IS NULL` : sql`cleared_at IS NOT NULL`}
      ${alertId === undefined ? sql`` : sql`AND alert_id = ${alertId}`}
      ${kind ? sql`AND kind = ${kind}` : sql``}
      ${subject ? sql`AND subject = ${subject}` : sql``}
      ${before === undefined ? sql`` : sql`AND (last_at, alert_id) < ((SELECT last_at FROM alerts WHERE alert_id = ${before}), ${before})`}
    ORDER BY last_at DESC, alert_id DESC LIMIT ${limit + 1}`;
  const alerts = rows.slice(0, limit).map((row) => Object.assign(row, { remedy: remedyOf(row) }));
  return { alerts, hasMore: rows.length > limit };
}

export async function countOpenAlerts(sql: Sql): Promise<{ kind: string; count: number }[]> {
  return sql<{ kind: string; count: number }[]>`
    SELECT kind, count(*)::integer AS count FROM alerts WHERE cleared_at IS NULL GROUP BY kind`;
}

/**
 * Clears an alert on behalf of an operator, with an audit row.
 *
 * @returns false when there is no such alert, or it is already cleared
 */
export async function clearAlertById(
  sql: Sql,
  alertId: number,
  actor: Actor,
  reason: string,
): Promise<boolean> {
  const rows = await sql`
    WITH cleared AS (
      UPDATE alerts
      SET cleared_at = clock_timestamp(), cleared_by = ${actor.name}, cleared_reason = ${reason}
      WHERE alert_id = ${alertId} AND cleared_at IS NULL
      RETURNING kind, subject
    )
    INSERT INTO audit_log (actor, address, action, subject, details)
    SELECT ${actor.name}, ${actor.address}, 'alert.clear', subject,
      jsonb_build_object('alertId', ${alertId}::bigint, 'kind', kind, 'reason', ${reason}::text)
    FROM cleared RETURNING audit_id`;
  return rows.length > 0;
}

function remedyOf({ kind }: { kind: string }): string {
  const remedies: Partial<Record<string, string>> = ALERT_KINDS;
  return remedies[kind] ?? 'See the log.';
}
