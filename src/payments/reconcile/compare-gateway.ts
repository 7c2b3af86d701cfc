import { clearAlert, raiseAlert } from '../../alerts/alerts.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import type { Sql } from '../../db/client.ts';
import type { PaymentFigures } from './gateway-figures-queries.ts';
import { findFigures, listFiguresToCompare } from './gateway-figures-queries.ts';
import type { PaymentGateway } from '../gateway/gateway.ts';
import type {
  GatewayPayment,
  TransferPayout,
  TransferredFunds,
} from '../gateway/gateway-objects.ts';
import { isCaptured } from '../gateway/gateway-objects.ts';
import type { CaptureDeps } from '../captures/captures.ts';
import type { Gateways } from '../gateway/gateways.ts';
import { paymentSubject } from '../gateway/gateways.ts';
import { lookAtHoldAgain } from '../funds/funds.ts';
import { refundAgainIfBooked } from '../reversals/reversals.ts';
import type { FeesOfPayment, LateFacts } from '../queries.ts';
import { writeLateFacts, writePayout } from '../queries.ts';
import { contradictionOf } from '../settlement/settlement-rule.ts';

const CONCURRENT_PAYMENTS = 4;
/** The most faults and the most failures that a comparison lists. */
const MAX_LISTED = 100;

/** A figure in which the gateway and the ledger differ. */
export interface GatewayFault extends PaymentRef {
  orderNumber: string;
  fault: string;
}

/** The result of comparing the payments of open and recently ended orders with the gateway. */
export interface GatewayComparison {
  comparedCount: number;
  /** The number of payments that are not compared, because the gateway is moving their money now. */
  movingCount: number;
  faultCount: number;
  faults: GatewayFault[];
  notAskedCount: number;
  /** The first payments that could not be fetched from the gateway, with the reason. */
  notAsked: (PaymentRef & { orderNumber: string; reason: string })[];
}

interface ComparisonDeps {
  sql: Sql;
  gateways: Gateways;
}

/**
 * Compares the ledger with the gateways' figures: the captured, refunded, released and held amounts of each payment
 * whose order is open or ended within a week, and the accounts of its transfers. It reads pages and fetches a few
 * payments at a time. A failed fetch does not stop the others.
 */
export async function compareWithGateway(deps: ComparisonDeps): Promise<GatewayComparison> {
  const comparison: GatewayComparison = {
    comparedCount: 0,
    movingCount: 0,
    faultCount: 0,
    faults: [],
    notAskedCount: 0,
    notAsked: [],
  };
  await forEachPayment(deps.sql, FIRST, (payment) => compareOne(deps, payment, comparison));
  return comparison;
}

/** Sorts before every payment. */
const FIRST: PaymentRef = { gateway: '', gatewayPaymentId: '' };

/** Reads the payments to compare page by page, and processes a few at a time. */
async function forEachPayment(
  sql: Sql,
  from: PaymentRef,
  work: (payment: PaymentFigures) => Promise<void>,
  onPage: (last: PaymentRef) => Promise<void> = async () => undefined,
): Promise<void> {
  let after: PaymentRef | undefined = from;
  while (after !== undefined) {
    const payments: PaymentFigures[] = await listFiguresToCompare(sql, after);
    const queue = payments.values();
    const processQueue = async () => {
      for (const payment of queue) await work(payment);
    };
    await Promise.all(Array.from({ length: CONCURRENT_PAYMENTS }, processQueue));
    after = payments.at(-1);
    if (after) await onPage(after);
  }
}

/**
 * The daily comparison. Raises an alert about each payment on which the gateway differs from the ledger, and clears
 * it for each on which they agree. Also records the payout that settled a released transfer.
 *
 * @param from continues after this payment
 * @param onPage called after each page, with its last payment
 * @returns how many payments differ
 */
export async function alertOnDifferences(
  deps: CaptureDeps,
  {
    from = FIRST,
    onPage,
  }: { from?: PaymentRef | undefined; onPage?: (last: PaymentRef) => Promise<void> } = {},
): Promise<{ differing: number }> {
  let differing = 0;
  const compare = async (read: PaymentFigures) => {
    if (await differs(deps, read)) differing += 1;
  };
  await forEachPayment(deps.sql, from, compare, onPage);
  return { differing };
}

/** @returns false also if the payment cannot be compared now; its alert then stays as it is */
async function differs(deps: CaptureDeps, read: PaymentFigures): Promise<boolean> {
  const { gateway, gatewayPaymentId, orderNumber } = read;
  const subject = paymentSubject(read);
  try {
    const compared = await comparePayment(deps, read);
    if (!compared) return false;
    const { faults, recipientFaults, reported, payouts } = compared;
    // The gateway may not have reported them at first.
    if (isNews(read, reported)) await writeLateFacts(deps.sql, read, reported);
    await recordPayout(deps, read, payouts);
    await alertOnRecipients(deps, read, recipientFaults);
    if (faults.length === 0)
      await clearAlert(deps.sql, 'gateway_differs', subject, 'the gateway and the ledger agree');
    else {
      await raiseAlert(deps, {
        kind: 'gateway_differs',
        subject,
        message: `The gateway differs from the ledger: ${faults.join('; ')}`,
        fields: { gateway, gatewayPaymentId, orderNumber },
      });
      // The callback about a failed refund or transfer may have been lost. Either call can fail; the alert is raised
      // by then.
      await refundAgainIfBooked(deps, read);
      await lookAtHoldAgain(deps, { gateway, gatewayPaymentId, hasFailed: true });
    }
    return faults.length + recipientFaults.length > 0;
  } catch (err) {
    deps.log.warn({ err, orderNumber }, 'A payment was not compared with the gateway');
    return false;
  }
}

/** Asks for the payout of a settled transfer until its UTR is known. */
async function recordPayout(
  deps: CaptureDeps,
  payment: PaymentFigures,
  payouts: readonly TransferPayout[],
): Promise<void> {
  const payout = payouts.find(({ transferId }) => transferId === payment.transferWithoutPayout);
  if (payout === undefined) return;
  try {
    const utr = await deps.gateways.forOrder(payment).fetchPayoutUtr(payout.payoutId);
    if (utr !== null) await writePayout(deps.sql, payment, { ...payout, utr });
  } catch (err) {
    const { orderNumber } = payment;
    deps.log.warn({ err, orderNumber }, 'The gateway was not asked for the payout of a transfer');
  }
}

async function alertOnRecipients(
  deps: CaptureDeps,
  payment: PaymentFigures,
  faults: readonly string[],
): Promise<void> {
  const { gateway, gatewayPaymentId, orderNumber } = payment;
  const kind = 'transfer_recipient_differs';
  const subject = paymentSubject(payment);
  if (faults.length === 0)
    return clearAlert(deps.sql, kind, subject, 'no transfer goes to another account');
  return raiseAlert(deps, {
    kind,
    subject,
    message: `Money of a payment went to another account: ${faults.join('; ')}`,
    fields: { gateway, gatewayPaymentId, orderNumber },
  });
}

async function compareOne(
  deps: ComparisonDeps,
  payment: PaymentFigures,
  comparison: GatewayComparison,
): Promise<void> {
  const { gateway, gatewayPaymentId, orderNumber } = payment;
  try {
    const compared = await comparePayment(deps, payment);
    if (!compared) {
      comparison.movingCount += 1;
      return;
    }
    const faults = [...compared.faults, ...compared.recipientFaults];
    comparison.comparedCount += 1;
    comparison.faultCount += faults.length;
    for (const fault of faults) {
      if (comparison.faults.length < MAX_LISTED) {
        comparison.faults.push({ gateway, gatewayPaymentId, orderNumber, fault });
      }
    }
  } catch (error) {
    comparison.notAskedCount += 1;
    if (comparison.notAsked.length >= MAX_LISTED) return;
    const reason = error instanceof Error ? error.message : String(error);
    comparison.notAsked.push({ gateway, gatewayPaymentId, orderNumber, reason });
  }
}

/** The figures and accounts in which the gateway differs, and the facts and payouts that it reports. */
interface ComparedPayment {
  faults: string[];
  recipientFaults: string[];
  reported: LateFacts;
  payouts: TransferPayout[];
}

/**
 * Compares a payment, and one that differs once more: its money may have moved between the two readings.
 *
 * @returns undefined if the gateway is moving its money now
 */
async function comparePayment(
  { sql, gateways }: ComparisonDeps,
  payment: PaymentFigures,
): Promise<ComparedPayment | undefined> {
  if (payment.isMoving) return undefined;
  const compared = await compareFigures(gateways.forOrder(payment), payment);
  if (compared.faults.length + compared.recipientFaults.length === 0) return compared;
  const again = await findFigures(sql, payment);
  if (!again || again.isMoving) return undefined;
  return compareFigures(gateways.forOrder(again), again);
}

async function compareFigures(
  gateway: PaymentGateway,
  payment: PaymentFigures,
): Promise<ComparedPayment> {
  const { gatewayPaymentId } = payment;
  const atGateway = await gateway.fetchPayment(gatewayPaymentId);
  const transferred = await gateway.fetchTransferred(gatewayPaymentId);
  const moved =
    payment.settled === null
      ? movedFaults(payment, atGateway, transferred)
      : settledFaults(payment, payment.settled, atGateway, transferred);
  const fees = { ofPayment: atGateway.fee, ofTransfer: transferred.fee };
  return {
    faults: [...captureFaults(payment, atGateway), ...moved, ...feeFaults(payment, fees)],
    recipientFaults: faultsOfRecipients(payment, transferred),
    reported: { ...fees, utr: atGateway.utr },
    payouts: transferred.payouts,
  };
}

/** Also checked for a payment that is settled outside: none of its transfers may go to another account. */
function faultsOfRecipients(
  { linkedAccountId }: PaymentFigures,
  { recipients }: TransferredFunds,
): string[] {
  if (linkedAccountId === null) return [];
  return recipients
    .filter((recipient) => recipient !== linkedAccountId)
    .map(
      (recipient) =>
        `a transfer to ${recipient ?? 'an account that the gateway does not report'} instead of ${linkedAccountId}`,
    );
}

/** True if the gateway reports a UTR or a fee that is not recorded. */
function isNews(known: PaymentFigures, { utr, ofPayment, ofTransfer }: LateFacts): boolean {
  return (
    (known.utr === null && utr !== null) ||
    (known.feePaise === null && ofPayment !== null) ||
    (known.transferFeePaise === null && ofTransfer !== null)
  );
}

/** A fee that only one of them knows is not a fault. */
function feeFaults(ours: PaymentFigures, { ofPayment, ofTransfer }: FeesOfPayment): string[] {
  const compared = [
    ['the payment', ours.feePaise, ofPayment?.feePaise],
    ['its transfer', ours.transferFeePaise, ofTransfer?.feePaise],
  ] as const;
  return compared
    .filter(([, known, theirs]) => known !== null && theirs !== undefined && known !== theirs)
    .map(
      ([what, known, theirs]) => `${what} has cost ${known} paise, but the gateway says ${theirs}`,
    );
}

/**
 * The faults of a payment that an operator has settled outside the gateway. Its figures may differ, because the
 * money may have moved outside, but the gateway must not have moved it, too.
 */
function settledFaults(
  { amountPaise: capturedPaise, lostPaise }: PaymentFigures,
  settled: NonNullable<PaymentFigures['settled']>,
  { refundedPaise }: GatewayPayment,
  { heldPaise, releasedPaise: toMerchantPaise }: TransferredFunds,
): string[] {
  const moved = { toBuyerPaise: refundedPaise + lostPaise, toMerchantPaise };
  const contradiction = contradictionOf({ ...settled, capturedPaise }, moved);
  const isStillHeld = settled.outcome === 'refunded' && heldPaise > 0;
  return [
    ...(contradiction === null ? [] : [contradiction]),
    ...(isStillHeld ? [`${heldPaise} paise are on hold for the merchant`] : []),
  ].map((fault) => `settled as ${settled.outcome}, but ${fault}`);
}

function captureFaults(ours: PaymentFigures, theirs: GatewayPayment): string[] {
  const { amountPaise, currency } = ours;
  const isSame = theirs.amountPaise === amountPaise && theirs.currency === currency;
  if (isSame && isCaptured(theirs)) return [];
  return [
    `captured ${amountPaise} paise of ${currency}, but the gateway says ${theirs.status}, ${theirs.amountPaise} of ${theirs.currency}`,
  ];
}

/** A reversal is taken from the linked account or from the platform's balance. Both are correct. */
function movedFaults(
  { refundedPaise, releasedPaise, heldPaise, reversedPaise, isHeld }: PaymentFigures,
  { refundedPaise: refunded }: GatewayPayment,
  { heldPaise: held, releasedPaise: released }: TransferredFunds,
): string[] {
  const leastHeld = isHeld ? heldPaise : 0;
  const compared = [
    ['refunded', refundedPaise, refunded, refundedPaise, refundedPaise],
    ['released', releasedPaise, released, releasedPaise - reversedPaise, releasedPaise],
    ['set aside', heldPaise, held, leastHeld, heldPaise + reversedPaise],
  ] as const;
  return compared
    .filter(([, , theirs, least, most]) => theirs < least || theirs > most)
    .map(([what, ours, theirs]) => `${what} ${ours} paise, but the gateway says ${theirs}`);
}
