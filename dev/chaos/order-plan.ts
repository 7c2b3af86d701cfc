import type { OrderStatus } from '../../src/domain/index.ts';
import type { Random } from '../gateway-simulator/random.ts';

/** What a merchant, a buyer or an operator does to one order. */
export type Act =
  | 'create'
  | 'createTwice'
  | 'openSession'
  | 'pay'
  | 'payAtGateway'
  | 'payTwiceAtGateway'
  | 'payAuthorizedAtGateway'
  | 'payLateAtGateway'
  | 'payAndRefundAtGateway'
  | 'failAtGateway'
  | 'failPayment'
  | 'deliver'
  | 'cancel'
  | 'refund'
  | 'dispute'
  | 'resolve'
  | 'accept'
  | 'submitEvidence'
  | 'decideForMerchant'
  | 'decideForBuyer'
  | 'settleRefunded'
  | 'endRefundedPayment'
  | 'refundsPend'
  | 'endPendingRefund'
  | 'failPendingRefund'
  | 'failProcessedRefund'
  | 'chargeBack'
  | 'winChargeback'
  | 'loseChargeback'
  | 'advanceOneDay'
  | 'advanceThreeDays';

interface Kind {
  readonly weight: number;
  readonly acts: readonly Act[];
  /** Undefined if it depends on what comes first. */
  readonly ends?: OrderStatus;
  /** The most payments of its buyer that the gateway can capture; a late one may be repeated. */
  readonly mostCaptures?: number;
}

/** Every kind of order: what is done to it after its creation, and the status in which it ends. */
const KINDS = {
  waiting: { weight: 2, acts: [], ends: 'ACCEPTED', mostCaptures: 0 },
  cancelled: { weight: 2, acts: ['cancel'], ends: 'CANCELLED', mostCaptures: 0 },
  'cancelled while payable': {
    weight: 2,
    acts: ['openSession', 'cancel'],
    ends: 'CANCELLED',
    mostCaptures: 0,
  },
  expired: { weight: 2, acts: ['advanceOneDay'], ends: 'CANCELLED', mostCaptures: 0 },
  'expired while payable': {
    weight: 2,
    acts: ['openSession', 'advanceOneDay'],
    ends: 'CANCELLED',
    mostCaptures: 0,
  },
  'paid late': {
    weight: 2,
    acts: ['openSession', 'cancel', 'payLateAtGateway'],
    ends: 'CANCELLED',
  },
  paid: { weight: 2, acts: ['pay'], ends: 'PAID', mostCaptures: 1 },
  'paid twice': {
    weight: 2,
    acts: ['openSession', 'payTwiceAtGateway', 'deliver'],
    ends: 'DELIVERED',
  },
  'failed, then paid': {
    weight: 3,
    acts: [
      'openSession',
      'failAtGateway',
      'failPayment',
      'payAtGateway',
      'deliver',
      'advanceOneDay',
    ],
    ends: 'COMPLETED',
    mostCaptures: 1,
  },
  delivered: { weight: 2, acts: ['pay', 'deliver'], ends: 'DELIVERED', mostCaptures: 1 },
  completed: {
    weight: 8,
    acts: ['pay', 'deliver', 'advanceOneDay'],
    ends: 'COMPLETED',
    mostCaptures: 1,
  },
  'paid at the gateway': {
    weight: 6,
    acts: ['openSession', 'payAtGateway', 'deliver', 'advanceOneDay'],
    ends: 'COMPLETED',
    mostCaptures: 1,
  },
  'authorized, then captured': {
    weight: 2,
    acts: ['openSession', 'payAuthorizedAtGateway', 'deliver', 'advanceOneDay'],
    ends: 'COMPLETED',
    mostCaptures: 1,
  },
  refunded: { weight: 3, acts: ['pay', 'refund'], ends: 'REFUNDED', mostCaptures: 1 },
  'delivered and refunded': {
    weight: 2,
    acts: ['pay', 'deliver', 'refund'],
    ends: 'REFUNDED',
    mostCaptures: 1,
  },
  'dispute resolved': {
    weight: 3,
    acts: ['pay', 'deliver', 'dispute', 'resolve', 'advanceOneDay'],
    ends: 'COMPLETED',
    mostCaptures: 1,
  },
  'dispute accepted': {
    weight: 3,
    acts: ['pay', 'dispute', 'accept'],
    ends: 'REFUNDED',
    mostCaptures: 1,
  },
  'dispute decided for the merchant': {
    weight: 2,
    acts: ['pay', 'deliver', 'dispute', 'submitEvidence', 'decideForMerchant', 'advanceOneDay'],
    ends: 'COMPLETED',
    mostCaptures: 1,
  },
  'dispute decided for the buyer': {
    weight: 2,
    acts: ['pay', 'deliver', 'dispute', 'submitEvidence', 'decideForBuyer'],
    ends: 'REFUNDED',
    mostCaptures: 1,
  },
  'dispute expired': {
    weight: 3,
    acts: ['pay', 'deliver', 'dispute', 'advanceThreeDays'],
    ends: 'REFUNDED',
    mostCaptures: 1,
  },
  'refund that is pending': {
    weight: 2,
    acts: ['pay', 'refundsPend', 'refund', 'endPendingRefund'],
    ends: 'REFUNDED',
    mostCaptures: 1,
  },
  'refund that is pending and fails': {
    weight: 2,
    acts: ['pay', 'deliver', 'refundsPend', 'refund', 'failPendingRefund'],
    ends: 'REFUNDED',
    mostCaptures: 1,
  },
  'refund that fails later': {
    weight: 2,
    acts: ['pay', 'refund', 'failProcessedRefund'],
    ends: 'REFUNDED',
    mostCaptures: 1,
  },
  'chargeback won, then released': {
    weight: 2,
    acts: ['pay', 'deliver', 'chargeBack', 'advanceOneDay', 'winChargeback'],
    ends: 'COMPLETED',
    mostCaptures: 1,
  },
  'chargeback won, then refunded': {
    weight: 2,
    acts: ['pay', 'chargeBack', 'winChargeback', 'refund'],
    ends: 'REFUNDED',
    mostCaptures: 1,
  },
  'chargeback lost': {
    weight: 2,
    acts: ['pay', 'deliver', 'chargeBack', 'loseChargeback', 'settleRefunded'],
    ends: 'REFUNDED',
    mostCaptures: 1,
  },
  'refunded at the gateway at once': {
    weight: 2,
    acts: ['openSession', 'payAndRefundAtGateway', 'endRefundedPayment'],
    mostCaptures: 1,
  },
} as const satisfies Record<string, Kind>;
type KindName = keyof typeof KINDS;

/** One order of a run. */
export interface OrderPlan extends Omit<Kind, 'weight'> {
  readonly kind: string;
  readonly amountPaise: number;
  /** Which of the run's merchants it belongs to. */
  readonly merchant: number;
  /** Of each act: the wait before it, and whether its request is repeated once it was answered. */
  readonly pauses: readonly { readonly waitMs: number; readonly isRepeated: boolean }[];
}

const LEAST_PAISE = 500;
const MOST_PAISE = 1_000_000;
const LONGEST_WAIT_MS = 4000;
const REPEATED = 0.15;
const CREATED_TWICE = 0.15;

/** Plans orders of every kind. The same random numbers give the same plan. */
export function planOrders(count: number, merchants: number, random: Random): OrderPlan[] {
  const names = Object.keys(KINDS) as KindName[];
  return Array.from({ length: count }, (_, index) => {
    // A run with few orders has one of each kind, too.
    const kind = names[index] ?? chosenKind(names, random);
    const { weight: _weight, ...rest }: Kind = KINDS[kind];
    const acts = [random.next() < CREATED_TWICE ? 'createTwice' : 'create', ...rest.acts] as const;
    return {
      ...rest,
      kind,
      acts,
      amountPaise: LEAST_PAISE + Math.floor(random.next() * (MOST_PAISE - LEAST_PAISE)),
      merchant: Math.floor(random.next() * merchants),
      pauses: acts.map(() => ({
        waitMs: Math.floor(random.next() * LONGEST_WAIT_MS),
        isRepeated: random.next() < REPEATED,
      })),
    };
  });
}

function chosenKind(names: readonly KindName[], random: Random): KindName {
  const total = names.reduce((sum, name) => sum + KINDS[name].weight, 0);
  let left = random.next() * total;
  return names.find((name) => (left -= KINDS[name].weight) < 0) ?? 'completed';
}
