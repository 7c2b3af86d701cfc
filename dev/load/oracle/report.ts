import { SEND_MAIL_WORKFLOW } from '../../../src/contracts/ids.ts';

/** The checks, each with what it says when it finds nothing. */
const CHECKS = {
  'under way': 'operations, deliveries and workflows still under way',
  lost: 'acknowledged orders, commands and captures lost',
  duplicate: 'duplicates: orders of a key, steps, events, money movements',
  illegal: 'illegal transitions',
  status: 'orders in another status than their merchant was answered',
  event: 'events missing, doubled or out of sequence',
  delivery: 'due events neither accepted nor FAILED after exactly five attempts',
  ledger: 'faults of the ledger',
  gateway: 'differences between gateway and ledger',
  invariant: 'broken invariants of money',
  people: 'acts of people without approval, line or right',
  mail: 'mails missing, doubled, never received or without a row',
  workflow: 'orders whose workflow differs from the row',
  alert: 'unexpected open alerts',
  surprise: 'answers and webhooks that must not be',
} as const;
/** The name of a check. */
export type Check = keyof typeof CHECKS;

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

/** The report as text: the counts, then the number of findings of each check, then the first findings. */
export function reportText(report: Report): string {
  const { violations } = report;
  const found = Object.entries(CHECKS).map(([check, text]) => {
    const count = violations.filter((one) => one.check === check).length;
    return `${String(count).padStart(6)} ${text}`;
  });
  const listed = violations.slice(0, MOST_LISTED).map((one) => `  ${violationText(one)}`);
  const more = violations.length - listed.length;
  return [
    `Compared: ${countsText(report)}`,
    ...found,
    ...listed,
    ...(more > 0 ? [`  and ${more} more`] : []),
  ].join('\n');
}
