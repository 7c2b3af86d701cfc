import type { Logger } from 'pino';

/** Receivers reject a timestamp that is off by 300 s: past this, our own clock must be mended. */
const MAX_CLOCK_DIFFERENCE_MS = 60_000;

/** @throws Error when this machine's clock differs so much that receivers could reject our webhooks */
export function assertClockAgrees(databaseNow: Date, log: Logger): void {
  const differenceMs = Math.abs(Date.now() - databaseNow.getTime());
  if (differenceMs <= MAX_CLOCK_DIFFERENCE_MS) return;
  log.error({ alert: 'clock_skew', differenceMs }, 'Our clock differs: webhooks are not sent');
  throw new Error(`Our clock differs from the database's by ${differenceMs} ms`);
}
