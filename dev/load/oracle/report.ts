import { SEND_MAIL_WORKFLOW } from '../../../src/contracts/ids.ts';

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
  | 'mail'
  | 'workflow'
  | 'alert'
  | 'surprise';

/** One finding. */
export interface Violation {
  readonly check: Check;
  /** An order number, an event id or a payment id. */
  readonly subject: string;
  readonly fault: string;
  /** What else it is about: `razorpay:<payment id>`. */
  readonly about: readonly string[];
  /** Whether it is a total, which differs by the faults of single orders. */
  readonly isTotal: boolean;
}

/** A finding. @param about what else it is about: `razorpay:<payment id>` */
export const violation = (
  check: Check,
  subject: string,
  fault: string,
  about: readonly string[] = [],
  isTotal = false,
): Violation => ({ check, subject, fault, about, isTotal });

/** What was compared, by name: orders, steps, events, attempts, payments, … */
export type Counts = Readonly<Record<string, number>>;

/** The result of the checks, or of one of them. */
export interface Report {
  readonly counts: Counts;
  readonly violations: readonly Violation[];
}

/** What alerts call the subject of a workflow. */
export const subjectOf = ({ workflowId, type }: { workflowId: string; type: string }) =>
  type === SEND_MAIL_WORKFLOW ? 'SMTP_URL' : workflowId.replace(/^refund-(\w+)-/, '$1:');

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
