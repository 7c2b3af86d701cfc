import type { Deadline } from '../../src/domain/index.ts';

const SHORTEST_MS = 1000;
const LONGEST_MS = 3_600_000;

/**
 * Delays the next try of a deadline whose step the database has just refused: a release may not begin yet, the
 * deadline has not passed by the database's clock, or a dispute or an answer that was received in time comes first.
 * The order stays as it is. A refused try makes no step.
 */
export class DeadlineDelay {
  private delayMs = 0;
  private notBeforeMs = Number.NEGATIVE_INFINITY;

  /** Begins a delay from now, twice as long as the previous one. */
  begin(): void {
    this.delayMs = Math.min(Math.max(2 * this.delayMs, SHORTEST_MS), LONGEST_MS);
    this.notBeforeMs = Date.now() + this.delayMs;
  }

  end(): void {
    this.delayMs = 0;
    this.notBeforeMs = Number.NEGATIVE_INFINITY;
  }

  /** The deadline, or the end of the delay if that is later. */
  applyTo(deadline: Deadline | null): Deadline | null {
    return deadline && { ...deadline, atMs: Math.max(deadline.atMs, this.notBeforeMs) };
  }
}
