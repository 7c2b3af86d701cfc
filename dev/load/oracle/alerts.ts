import { listAlerts } from '../../../src/alerts/alerts.ts';
import type { AlertKind } from '../../../src/alerts/kinds.ts';
import type { Sql } from '../../../src/db/client.ts';
import { violation, type Counts, type Violation } from './report.ts';
import type { Allowed } from './service.ts';

/** Alerts whose cause disappears without an operator: one that is still open at the end is a fault. */
const HEALED_BY_THE_END: readonly string[] = [
  'callback_not_understood',
  'clock_skew',
  'order_behind',
  'refund_failed',
  'step_not_recorded',
  'surplus_capture',
  'workflow_missing',
  'wrong_amount',
] satisfies AlertKind[];

/** A limit far above the alerts of a run. */
const ALL = 100_000;

/** The open alerts. */
export interface OpenAlerts {
  /** The number of alerts of each kind. */
  readonly counts: Counts;
  has(kind: AlertKind, subject: string): boolean;
  /** True if an alert that may stay open names an order or a payment. */
  isAbout(subject: string): boolean;
  /** Alerts that may not be open. */
  readonly violations: readonly Violation[];
}

/** Reads the alerts that an operator would see now. */
export async function readAlerts(sql: Sql, { alerts: mayBeOpen }: Allowed): Promise<OpenAlerts> {
  const { alerts } = await listAlerts(sql, {}, ALL);
  const keys = new Set(alerts.map(({ kind, subject }) => `${kind} ${subject}`));
  const has = (kind: AlertKind, subject: string) => keys.has(`${kind} ${subject}`);
  const isForOperators = ({ kind }: { kind: string }) =>
    mayBeOpen === true && !HEALED_BY_THE_END.includes(kind);
  const mayStay = (alert: { kind: string; subject: string }) =>
    isForOperators(alert) ||
    // Without its row no step of an order can be recorded; the gateway may refuse its surplus refund permanently.
    (mayBeOpen === true &&
      (has('order_without_row', alert.subject) || has('gateway_refused', alert.subject)));
  const named = alerts
    .filter(isForOperators)
    .flatMap(({ subject, details: { orderNumber, gateway, gatewayPaymentId } }) => [
      subject,
      orderNumber,
      `${String(gateway)}:${String(gatewayPaymentId)}`,
    ]);
  const counts: Record<string, number> = {};
  for (const { kind } of alerts) counts[kind] = (counts[kind] ?? 0) + 1;
  return {
    counts,
    has,
    isAbout: (subject) => named.includes(subject),
    violations: alerts
      .filter((alert) => !mayStay(alert))
      .map(({ kind, subject, message }) =>
        violation('alert', subject, `the alert ${kind} is open: ${message}`),
      ),
  };
}
