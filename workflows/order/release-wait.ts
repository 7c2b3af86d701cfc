import type { Deadline } from '../../src/domain/index.ts';

const SHORTEST_MS = 1000;
const LONGEST_MS = 3_600_000;

/**
 * The wait of a release that may not begin yet: the merchant is not active, the gateway has reversed some of the
 * payment, or the window is still open by the database's clock. The order stays DELIVERED and takes disputes. A try
 * that has to wait makes no step and no event.
 */
export class ReleaseWait {
  private waitMs = 0;
  private notBeforeMs = Number.NEGATIVE_INFINITY;

  /** Each wait is twice as long as the previous one. */
  extend(): void {
    this.waitMs = Math.min(Math.max(2 * this.waitMs, SHORTEST_MS), LONGEST_MS);
    this.notBeforeMs = Date.now() + this.waitMs;
  }

  end(): void {
    this.waitMs = 0;
    this.notBeforeMs = Number.NEGATIVE_INFINITY;
  }

  /** The deadline, or the next try after it. */
  delay(deadline: Deadline | null): Deadline | null {
    return deadline && { ...deadline, atMs: Math.max(deadline.atMs, this.notBeforeMs) };
  }
}
