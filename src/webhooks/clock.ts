import { hostname } from 'node:os';
import type { AlertDeps } from '../alerts/alerts.ts';
import { raiseAlert } from '../alerts/alerts.ts';

/** Receivers reject a timestamp that is off by 300 s: past this, our own clock must be mended. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000;

/** @throws Error when this machine's clock differs so much that receivers could reject our webhooks */
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
