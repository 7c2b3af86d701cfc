import type { AlertKind } from '../../src/alerts/kinds.ts';
import { listAlerts } from '../../src/alerts/alerts.ts';
import type { System } from './system.ts';

/** Alerts whose cause disappears without an operator: one that is still open at the end is a fault. */
const HEALED_BY_THE_END: readonly AlertKind[] = [
  'callback_not_understood',
  'clock_skew',
  'order_behind',
  'refund_failed',
  'step_not_recorded',
  'surplus_capture',
  'workflow_missing',
  'wrong_amount',
];

/** A limit far above the alerts of a run. */
const ALL = 100_000;

/** The open alerts and their subjects. */
export interface OpenAlerts {
  /** The number of alerts of each kind. */
  counts: Partial<Record<string, number>>;
  /** True if a lasting alert names an order or a payment. */
  isAbout(subject: string | null | undefined): boolean;
  /** The same for one kind of alert. */
  has(kind: AlertKind, subject: string): boolean;
  /** Alerts whose cause should have disappeared. */
  unhealed: string[];
}

/** Reads the alerts that an operator would currently see. */
export async function openAlerts({ sql }: Pick<System, 'sql'>): Promise<OpenAlerts> {
  const { alerts } = await listAlerts(sql, {}, ALL);
  const keys = new Set(alerts.map(({ kind, subject }) => `${kind} ${subject}`));
  const has = (kind: AlertKind, subject: string) => keys.has(`${kind} ${subject}`);
  const isHealing = ({ kind }: { kind: string }) =>
    (HEALED_BY_THE_END as readonly string[]).includes(kind);
  const subjects = new Set(
    alerts
      .filter((alert) => !isHealing(alert))
      .flatMap(({ subject, details: { orderNumber, gateway, gatewayPaymentId } }) =>
        [subject, orderNumber, `${String(gateway)}:${String(gatewayPaymentId)}`].filter(
          (one) => typeof one === 'string',
        ),
      ),
  );
  const counts: Partial<Record<string, number>> = {};
  for (const { kind } of alerts) counts[kind] = (counts[kind] ?? 0) + 1;
  return {
    counts,
    isAbout: (subject) => subject != null && subjects.has(subject),
    has,
    unhealed: alerts
      // Without its row no step of an order can be recorded; the gateway may refuse its surplus refund permanently.
      .filter((alert) => isHealing(alert) && !has('order_without_row', alert.subject))
      .filter(({ subject }) => !has('gateway_refused', subject))
      .map(({ kind, subject, message }) => `${subject}: the alert ${kind} is open: ${message}`),
  };
}
