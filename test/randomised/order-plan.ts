import type { Random } from '../../dev/gateway-simulator/random.ts';
import type { Act } from './acts.ts';

/** The state of an order, as far as its planned actions determine it. */
type Stage = 'new' | 'paid' | 'delivered' | 'disputed' | 'under review';

/** One possible continuation: its weight, its action, and the state of the order after it. */
interface Way {
  weight: number;
  acts: readonly Act[];
  next?: Stage;
}

/** What may happen at the gateway itself to an order that is paid. */
const AT_THE_GATEWAY: readonly (readonly Act[])[] = [
  ['refundAtGateway'],
  ['refundSomeAtGateway'],
  ['chargeBack'],
  ['chargeBack', 'loseChargeback'],
  ['chargeBack', 'winChargeback'],
  ['payLate'],
];

const gatewayWays = (next?: Stage): Way[] =>
  AT_THE_GATEWAY.map((acts) => ({ weight: 1, acts, ...(next && { next }) }));

const WAYS: Record<Stage, readonly Way[]> = {
  new: [
    { weight: 14, acts: ['pay'], next: 'paid' },
    { weight: 14, acts: ['payAtGateway'], next: 'paid' },
    { weight: 4, acts: ['payTwice'], next: 'paid' },
    { weight: 3, acts: ['failPayment'], next: 'new' },
    { weight: 2, acts: ['payWrongAmount'], next: 'new' },
    { weight: 2, acts: ['cancel'] },
    { weight: 2, acts: ['openSession', 'cancel'] },
    { weight: 2, acts: ['openSession', 'cancel', 'payLate'] },
    { weight: 2, acts: ['expire'] },
    { weight: 2, acts: ['openSession', 'expire', 'payLate'] },
    { weight: 3, acts: ['payWhileCancelling'], next: 'paid' },
    { weight: 2, acts: ['payAndRefundAtGateway'] },
    { weight: 1, acts: [] },
  ],
  paid: [
    { weight: 24, acts: ['deliver'], next: 'delivered' },
    { weight: 4, acts: ['dispute'], next: 'disputed' },
    { weight: 4, acts: ['refund'] },
    { weight: 3, acts: ['refund', 'failRefund'] },
    { weight: 1, acts: [] },
    ...gatewayWays('paid'),
  ],
  delivered: [
    { weight: 14, acts: [] },
    { weight: 10, acts: ['dispute'], next: 'disputed' },
    { weight: 3, acts: ['refund'] },
    ...gatewayWays(),
  ],
  disputed: [
    { weight: 3, acts: ['submitEvidence'], next: 'under review' },
    { weight: 3, acts: ['resolve'], next: 'delivered' },
    { weight: 3, acts: ['accept'] },
    { weight: 2, acts: ['accept', 'failRefund'] },
    { weight: 2, acts: ['chargeBack', 'accept', 'winChargeback'] },
    { weight: 2, acts: [] },
  ],
  'under review': [
    { weight: 2, acts: ['resolve'], next: 'delivered' },
    { weight: 2, acts: ['accept'] },
    { weight: 2, acts: [] },
  ],
};

/** The actions on one order, beginning with its creation. */
export function actsOf(random: Random): Act[] {
  const acts: Act[] = ['create'];
  for (let stage: Stage | undefined = 'new'; stage !== undefined;) {
    const way: Way = chosenFrom(WAYS[stage], random);
    acts.push(...way.acts);
    stage = way.next;
  }
  return acts;
}

function chosenFrom(ways: readonly Way[], random: Random): Way {
  const total = ways.reduce((sum, { weight }) => sum + weight, 0);
  let left = random.next() * total;
  const chosen = ways.find(({ weight }) => (left -= weight) < 0);
  return chosen ?? ways[0]!;
}
