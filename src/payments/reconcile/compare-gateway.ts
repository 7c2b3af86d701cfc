import type { NewAlert } from '../../alerts/alerts.ts';
import { clearAlert, raiseAlert } from '../../alerts/alerts.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import type { Sql } from '../../db/client.ts';
import type { CaptureDeps } from '../captures/captures.ts';
import { recheckHold } from '../funds/funds.ts';
import type { TransferPayout } from '../gateway/gateway-objects.ts';
import { paymentSubject } from '../gateway/gateways.ts';
import type { LateFacts } from '../funds/fee-queries.ts';
import { writeLateFacts } from '../funds/fee-queries.ts';
import { refundAgainIfBooked } from '../reversals/reversals.ts';
import type { ComparisonDeps } from './compare-payment.ts';
import { comparePayment } from './compare-payment.ts';
import type { PaymentFigures } from './gateway-figures-queries.ts';
import { listFiguresToCompare, writePayout } from './gateway-figures-queries.ts';

const CONCURRENT_PAYMENTS = 4;
/** The most faults and the most failures that a comparison lists. */
const MAX_LISTED = 100;

type PaymentOfOrder = PaymentRef & { orderNumber: string };

/** The result of comparing the payments of open and recently ended orders with the gateway. */
export interface GatewayComparison {
  comparedCount: number;
  /** The number of payments that are not compared, because the gateway is moving their money now. */
  movingCount: number;
  faultCount: number;
  /** The first figures in which the gateway and the ledger differ. */
  faults: (PaymentOfOrder & { fault: string })[];
  notAskedCount: number;
  /** The first payments that could not be fetched from the gateway, with the reason. */
  notAsked: (PaymentOfOrder & { reason: string })[];
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
  await forEachPayment(deps.sql, (payment) => compareOne(deps, payment, comparison));
  return comparison;
}

interface Pages {
  /** The last payment before those to compare. */
  from?: PaymentRef | undefined;
  /** Called after each page, with its last payment. */
  onPage?: (last: PaymentRef) => Promise<void>;
}

/** Sorts before every payment. */
const FIRST: PaymentRef = { gateway: '', gatewayPaymentId: '' };

/** Reads the payments to compare page by page, and processes a few at a time. */
async function forEachPayment(
  sql: Sql,
  work: (payment: PaymentFigures) => Promise<void>,
  { from = FIRST, onPage = async () => undefined }: Pages = {},
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
 * @returns how many payments differ
 */
export async function alertOnDifferences(
  deps: CaptureDeps,
  pages?: Pages,
): Promise<{ differing: number }> {
  let differing = 0;
  const compare = async (read: PaymentFigures) => {
    if (await differs(deps, read)) differing += 1;
  };
  await forEachPayment(deps.sql, compare, pages);
  return { differing };
}

/** @returns false also if the payment cannot be compared now; its alert then stays as it is */
async function differs(deps: CaptureDeps, read: PaymentFigures): Promise<boolean> {
  const { gateway, gatewayPaymentId, orderNumber } = read;
  try {
    const compared = await comparePayment(deps, read);
    if (!compared) return false;
    const { faults, recipientFaults, reported, payouts } = compared;
    // The gateway may not have reported them at first.
    if (isNews(read, reported)) await writeLateFacts(deps.sql, read, reported);
    await recordPayout(deps, read, payouts);
    await alertOn(deps, read, recipientFaults, {
      kind: 'transfer_recipient_differs',
      message: 'Money of a payment went to another account',
      resolved: 'no transfer goes to another account',
    });
    await alertOn(deps, read, faults, {
      kind: 'gateway_differs',
      message: 'The gateway differs from the ledger',
      resolved: 'the gateway and the ledger agree',
    });
    if (faults.length > 0) {
      // The callback about a failed refund or transfer may have been lost. Either call can fail; the alert is raised
      // by then.
      await refundAgainIfBooked(deps, read);
      await recheckHold(deps, { gateway, gatewayPaymentId, hasFailed: true });
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

/** Raises the alert about the faults of a payment. Without faults, clears it. */
async function alertOn(
  deps: CaptureDeps,
  payment: PaymentFigures,
  faults: readonly string[],
  { kind, message, resolved }: Pick<NewAlert, 'kind' | 'message'> & { resolved: string },
): Promise<void> {
  const { gateway, gatewayPaymentId, orderNumber, readAt: before } = payment;
  const subject = paymentSubject(payment);
  if (faults.length === 0) return clearAlert(deps.sql, kind, subject, resolved, { before });
  const fields = { gateway, gatewayPaymentId, orderNumber };
  return raiseAlert(deps, { kind, subject, message: `${message}: ${faults.join('; ')}`, fields });
}

async function compareOne(
  deps: ComparisonDeps,
  payment: PaymentFigures,
  comparison: GatewayComparison,
): Promise<void> {
  const { gateway, gatewayPaymentId, orderNumber } = payment;
  const about = { gateway, gatewayPaymentId, orderNumber };
  try {
    const compared = await comparePayment(deps, payment);
    if (!compared) {
      comparison.movingCount += 1;
      return;
    }
    const faults = [...compared.faults, ...compared.recipientFaults];
    comparison.comparedCount += 1;
    comparison.faultCount += faults.length;
    const listed = faults.slice(0, MAX_LISTED - comparison.faults.length);
    comparison.faults.push(...listed.map((fault) => ({ ...about, fault })));
  } catch (error) {
    comparison.notAskedCount += 1;
    if (comparison.notAsked.length >= MAX_LISTED) return;
    const reason = error instanceof Error ? error.message : String(error);
    comparison.notAsked.push({ ...about, reason });
  }
}

/** True if the gateway reports a UTR or a fee that is not recorded. */
function isNews(known: PaymentFigures, { utr, feePaise, transferFeePaise }: LateFacts): boolean {
  return (
    (known.utr === null && utr !== null) ||
    (known.feePaise === null && feePaise !== null) ||
    (known.transferFeePaise === null && transferFeePaise !== null)
  );
}
