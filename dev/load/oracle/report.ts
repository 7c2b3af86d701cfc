import { setTimeout as delay } from 'node:timers/promises';

/** The name of a check: docs/chaos.md says what each of them compares. */
export type Check =
  | 'under way'
  | 'lost'
  | 'duplicate'
  | 'illegal'
  | 'status'
  | 'event'
  | 'delivery'
  | 'ledger'
  | 'gateway'
  | 'invariant'
  | 'people'
  | 'workflow'
  | 'alert'
  | 'surprise';

/** The subject of a sum over all orders, which differs by the faults of single ones. */
export const TOTALS = 'totals';

/** One finding. */
export interface Violation {
  readonly check: Check;
  /** An order number, an event id or a payment id; or {@link TOTALS}. */
  readonly subject: string;
  readonly fault: string;
  /** What else it is about: `razorpay:<payment id>`. */
  readonly about: readonly string[];
}

/** A finding. @param about what else it is about: `razorpay:<payment id>` */
export const violation = (
  check: Check,
  subject: string,
  fault: string,
  about: readonly string[] = [],
): Violation => ({ check, subject, fault, about });

/** What was compared, by name: orders, steps, events, attempts, payments, … */
export type Counts = Readonly<Record<string, number>>;

/** The result of the checks, or of one of them. */
export interface Report {
  readonly counts: Counts;
  readonly violations: readonly Violation[];
}

/** What was compared, on one line. */
export const countsText = ({ counts }: Report) =>
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');

/** A finding on one line. */
export const violationText = ({ check, subject, fault }: Violation) =>
  `${check}: ${subject}: ${fault}`;

const MOST_LISTED = 20;

/** The report as text: the counts, the number of findings, and the first of them. */
export function reportText(report: Report): string {
  const { violations } = report;
  return [
    `Compared: ${countsText(report)}`,
    `${violations.length} violations`,
    ...violations.slice(0, MOST_LISTED).map((one) => `  ${violationText(one)}`),
  ].join('\n');
}

const LOOK_EVERY_MS = 1000;

/** How to look for violations until there are none. */
export interface Looking {
  readonly withinMs: number;
  readonly log: (line: string) => void;
  /** Called after each look that has found some. @param looks how many there were before */
  readonly between?: (looks: number) => Promise<void>;
}

/** Looks again and again until there is no violation, or the time is up. @returns the latest report */
export async function untilRight(
  look: () => Promise<Report>,
  { withinMs, log, between }: Looking,
): Promise<Report> {
  const endsAt = performance.now() + withinMs;
  let latest = '';
  for (let looks = 0; ; looks += 1) {
    // A server that has just been started again may not answer yet.
    const report = await look().catch((error: unknown): Report => {
      const fault = `servers without an answer (${String(error)})`;
      return { counts: {}, violations: [violation('under way', 'a server', fault)] };
    });
    const { violations } = report;
    if (violations.length === 0 || performance.now() > endsAt) return report;
    const kinds = Map.groupBy(violations, ({ check, fault }) =>
      check === 'under way' ? fault : `violations of the check ${check}`,
    );
    const text = [...kinds].map(([what, { length }]) => `${length} ${what}`).join(', ');
    if (text !== latest) log(`found: ${text}`);
    latest = text;
    await between?.(looks);
    await delay(LOOK_EVERY_MS);
  }
}
