import { hostname } from 'node:os';
import type { AlertDeps } from '../../alerts/alerts.ts';
import { clearAlert, raiseAlert } from '../../alerts/alerts.ts';

/** Far below the 300 s by which receivers allow the timestamp of a webhook to differ. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000;

/**
 * Compares this machine's clock with the database's. Raises an alert if they differ so much that receivers could
 * reject webhooks.
 *
 * @throws Error when they differ by more than a minute
 */
export async function assertClockAgrees(databaseNow: Date, deps: AlertDeps): Promise<void> {
  const differenceMs = Math.abs(Date.now() - databaseNow.getTime());
  if (differenceMs <= MAX_CLOCK_DIFFERENCE_MS) return;
  await raiseAlert(deps, {
    kind: 'clock_skew',
    subject: hostname(),
    message: 'Our clock differs: webhooks are not sent',
    fields: { differenceMs },
  });
  throw new Error(`Our clock differs from the database's by ${differenceMs} ms`);
}

export async function clearClockSkew({ sql }: Pick<AlertDeps, 'sql'>): Promise<void> {
  const [row] = await sql<[{ databaseNow: Date }]>`SELECT clock_timestamp() AS database_now`;
  if (Math.abs(Date.now() - row.databaseNow.getTime()) > MAX_CLOCK_DIFFERENCE_MS) return;
  await clearAlert(sql, 'clock_skew', hostname(), 'the clocks agree');
}
