import type { PaymentRef } from '../contracts/ids.ts';
import type { Sql } from '../db/client.ts';
import type { PaymentFigures } from './gateway-figures-queries.ts';
import { listFiguresToCompare } from './gateway-figures-queries.ts';
import type { GatewayPayment, PaymentGateway, TransferredFunds } from './gateway.ts';
import type { Gateways } from './gateways.ts';

const PAGE_SIZE = 200;
const CONCURRENT_PAYMENTS = 4;
/** Orders that reached a final status longer ago are not compared. */
const SETTLED_FOR_DAYS = 7;
/** The most faults and the most failures that a comparison lists. */
const MAX_LISTED = 100;

/** One figure in which the gateway and the ledger differ. */
export interface GatewayFault extends PaymentRef {
  orderNumber: string;
  fault: string;
}

/** The result of comparing open and recently settled payments with the gateway. */
export interface GatewayComparison {
  /** Payments whose figures were compared. */
  comparedCount: number;
  /** Payments whose money the gateway is moving now: they are not compared. */
  movingCount: number;
  faultCount: number;
  /** The first faults. */
  faults: GatewayFault[];
  notAskedCount: number;
  /** The first payments that could not be fetched from the gateway, and why. */
  notAsked: (PaymentRef & { orderNumber: string; reason: string })[];
}

/**
 * Compares the ledger with the gateways' figures: the amounts captured, refunded, released and held
 * of each payment whose order is open, or ended within a week. It reads pages and fetches a few
 * payments at a time; a failed fetch does not stop the others.
 */
export async function compareWithGateway(deps: {
  sql: Sql;
  gateways: Gateways;
}): Promise<GatewayComparison> {
  const comparison: GatewayComparison = {
    comparedCount: 0,
    movingCount: 0,
    faultCount: 0,
    faults: [],
    notAskedCount: 0,
    notAsked: [],
  };
  for (let after: PaymentRef = { gateway: '', gatewayPaymentId: '' }; ;) {
    const page = { after, limit: PAGE_SIZE, settledForDays: SETTLED_FOR_DAYS };
    const payments = await listFiguresToCompare(deps.sql, page);
    const queue = payments.values();
    const processQueue = async () => {
      for (const payment of queue) await compareOne(deps.gateways, payment, comparison);
    };
    await Promise.all(Array.from({ length: CONCURRENT_PAYMENTS }, processQueue));
    const last = payments.at(-1);
    if (last === undefined || payments.length < PAGE_SIZE) return comparison;
    after = last;
  }
}

async function compareOne(
  gateways: Gateways,
  payment: PaymentFigures,
  comparison: GatewayComparison,
): Promise<void> {
  const { gateway, gatewayPaymentId, orderNumber } = payment;
  if (payment.isMoving) {
    comparison.movingCount += 1;
    return;
  }
  try {
    const faults = await faultsOf(gateways.forOrder(payment), payment);
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

async function faultsOf(gateway: PaymentGateway, payment: PaymentFigures): Promise<string[]> {
  const { gatewayPaymentId } = payment;
  const atGateway = await gateway.fetchPayment(gatewayPaymentId);
  const transferred = await gateway.fetchTransferred(gatewayPaymentId);
  return [
    captureFault(payment, atGateway),
    // A settlement by an operator may have moved the money outside the gateway.
    ...(payment.isSettled
      ? []
      : [refundFault(payment, atGateway), ...transferFaults(payment, transferred)]),
  ].filter((fault) => fault !== null);
}

function captureFault(
  { amountPaise: paise, currency }: PaymentFigures,
  { status, amountPaise, currency: theirs }: GatewayPayment,
): string | null {
  const isCaptured = status === 'captured' || status === 'refunded';
  if (isCaptured && amountPaise === paise && theirs === currency) return null;
  return `captured ${paise} paise of ${currency}, but the gateway says ${status}, ${amountPaise} of ${theirs}`;
}

function refundFault(
  { refundedPaise: paise }: PaymentFigures,
  { refundedPaise }: GatewayPayment,
): string | null {
  if (paise === refundedPaise) return null;
  return `refunded ${paise} paise, but the gateway says ${refundedPaise}`;
}

/** A reversal is taken from the linked account or from the platform's balance: both are correct. */
function transferFaults(
  payment: PaymentFigures,
  { heldPaise, releasedPaise }: TransferredFunds,
): (string | null)[] {
  const { releasedPaise: released, heldPaise: held, reversedPaise: reversed } = payment;
  const isWithin = (paise: number, least: number, most: number) => least <= paise && paise <= most;
  const isReleaseRight = isWithin(releasedPaise, released - reversed, released);
  const isHoldRight = payment.isHeld
    ? isWithin(heldPaise, held, held + reversed)
    : isWithin(heldPaise, 0, held + reversed);
  return [
    isReleaseRight ? null : `released ${released} paise, but the gateway says ${releasedPaise}`,
    isHoldRight ? null : `set aside ${held} paise, but the gateway says ${heldPaise}`,
  ];
}
