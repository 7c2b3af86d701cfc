import { findFigures } from './gateway-figures-queries.ts';
import type { PaymentFigures } from './gateway-figures-queries.ts';
import type {
  GatewayPayment,
  TransferPayout,
  TransferredFunds,
} from '../gateway/gateway-objects.ts';
import { isCaptured } from '../gateway/gateway-objects.ts';
import type { GatewayDeps } from '../gateway/gateways.ts';
import type { FeesOfPayment, LateFacts } from '../funds/fee-queries.ts';
import { contradictionOf } from '../settlement/settlement-rule.ts';

export type ComparisonDeps = Pick<GatewayDeps, 'sql' | 'gateways'>;

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
 * @throws GatewayUnavailable, GatewayRefused
 */
export async function comparePayment(
  deps: ComparisonDeps,
  payment: PaymentFigures,
): Promise<ComparedPayment | undefined> {
  if (payment.isMoving) return undefined;
  const compared = await compareFigures(deps, payment);
  if (compared.faults.length + compared.recipientFaults.length === 0) return compared;
  const again = await findFigures(deps.sql, payment);
  return again && !again.isMoving ? compareFigures(deps, again) : undefined;
}

async function compareFigures(
  { gateways }: ComparisonDeps,
  payment: PaymentFigures,
): Promise<ComparedPayment> {
  const { gatewayPaymentId } = payment;
  const gateway = gateways.forOrder(payment);
  const atGateway = await gateway.fetchPayment(gatewayPaymentId);
  const transferred = await gateway.fetchTransferred(gatewayPaymentId);
  const moved =
    payment.settled === null
      ? movedFaults(payment, atGateway, transferred)
      : settledFaults(payment, payment.settled, atGateway, transferred);
  const fees = { feePaise: atGateway.feePaise, transferFeePaise: transferred.feePaise };
  return {
    faults: [...captureFaults(payment, atGateway), ...moved, ...feeFaults(payment, fees)],
    recipientFaults: recipientFaults(payment, transferred),
    reported: { ...fees, utr: atGateway.utr },
    payouts: transferred.payouts,
  };
}

/** Also checked for a payment that is settled outside: none of its transfers may go to another account. */
function recipientFaults(
  { linkedAccountId }: PaymentFigures,
  { recipients }: TransferredFunds,
): string[] {
  if (linkedAccountId === null) return [];
  const others = recipients.filter((recipient) => recipient !== linkedAccountId);
  const nameOf = (other: string | null) => other ?? 'an account that the gateway does not report';
  return others.map((other) => `a transfer to ${nameOf(other)} instead of ${linkedAccountId}`);
}

/** A fee that only one of them knows is not a fault. */
function feeFaults(ours: PaymentFigures, reported: FeesOfPayment): string[] {
  const compared = [
    ['the payment', ours.feePaise, reported.feePaise],
    ['its transfer', ours.transferFeePaise, reported.transferFeePaise],
  ] as const;
  return compared
    .filter(([, known, theirs]) => known !== null && theirs !== null && known !== theirs)
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
  const { outcome, hasReference, restPaise } = settled;
  // Without a bank transfer the gateway moves what was left. A refund that was pending may have failed since.
  const receivedPaise =
    outcome === 'refunded' ? moved.toBuyerPaise + restPaise - capturedPaise : toMerchantPaise;
  const isUnpaid = !hasReference && receivedPaise < restPaise;
  return [
    ...(contradiction === null ? [] : [contradiction]),
    ...(heldPaise > 0 ? [`${heldPaise} paise are on hold for the merchant`] : []),
    ...(isUnpaid ? [`${restPaise - receivedPaise} paise have not moved, here or by bank`] : []),
  ].map((fault) => `settled as ${outcome}, but ${fault}`);
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
