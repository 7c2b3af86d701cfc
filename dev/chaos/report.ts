/** The checks, each with what it says when it finds nothing. */
const CHECKS = {
  lost: 'acknowledged orders, commands and captures lost',
  duplicate: 'duplicates: orders of a key, steps, events, money movements',
  illegal: 'illegal transitions',
  status: 'orders in another status than their merchant was answered',
  event: 'events missing, doubled or out of sequence',
  delivery: 'due events neither accepted nor FAILED after exactly five attempts',
  ledger: 'faults of the ledger',
  gateway: 'differences between gateway and ledger',
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
}

/** The result of the checks. */
export interface Report {
  /** What was compared, by name: orders, steps, events, attempts, payments, … */
  readonly counts: Readonly<Record<string, number>>;
  readonly violations: readonly Violation[];
}

const MOST_LISTED = 20;

/** The report as text: the counts, then the number of findings of each check, then the first findings. */
export function reportText({ counts, violations }: Report): string {
  const compared = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  const found = Object.entries(CHECKS).map(([check, text]) => {
    const count = violations.filter((one) => one.check === check).length;
    return `${String(count).padStart(6)} ${text}`;
  });
  const listed = violations
    .slice(0, MOST_LISTED)
    .map(({ check, subject, fault }) => `  ${check}: ${subject}: ${fault}`);
  const more = violations.length - listed.length;
  return [
    `Compared: ${compared.join(', ')}`,
    ...found,
    ...listed,
    ...(more > 0 ? [`  and ${more} more`] : []),
  ].join('\n');
}
