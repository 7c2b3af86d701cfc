import { listAlerts } from '../../../src/alerts/alerts.ts';
import type { AlertKind } from '../../../src/alerts/kinds.ts';
import type { Sql } from '../../../src/db/client.ts';
import type { Violation } from './report.ts';
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
  readonly counts: Readonly<Record<string, number>>;
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
  const mayStay = ({ kind, subject }: { kind: string; subject: string }) =>
    mayBeOpen === true &&
    (!HEALED_BY_THE_END.includes(kind) ||
      // Without its row no step of an order can be recorded; the gateway may refuse its surplus refund permanently.
      has('order_without_row', subject) ||
      has('gateway_refused', subject));
  const named = alerts
    .filter((alert) => mayBeOpen === true && !HEALED_BY_THE_END.includes(alert.kind))
    .flatMap(({ subject, details: { orderNumber, gateway, gatewayPaymentId } }) => [
      subject,
      orderNumber,
      `${String(gateway)}:${String(gatewayPaymentId)}`,
    ]);
  const subjects = new Set(named.filter((one) => typeof one === 'string'));
  const counts: Record<string, number> = {};
  for (const { kind } of alerts) counts[kind] = (counts[kind] ?? 0) + 1;
  return {
    counts,
    has,
    isAbout: (subject) => subjects.has(subject),
    violations: alerts
      .filter((alert) => !mayStay(alert))
      .map(({ kind, subject, message }) => {
        const fault = `the alert ${kind} is open: ${message}`;
        return { check: 'alert', subject, fault };
      }),
  };
}
