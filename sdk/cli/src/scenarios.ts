import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { EventType, Order, Payorders } from '../../typescript/src/index.ts';

type Sandbox = Pick<Payorders, 'orders' | 'disputes' | 'sandbox'>;

/** One way through an order's life that a shop must be able to handle. */
export interface Scenario {
  readonly id: string;
  readonly title: string;
  /** What happens, and what a shop does then. */
  readonly text: string;
  /** The exact webhooks of its order, in the order of their sequence. */
  readonly webhooks: readonly EventType[];
  /** @returns the number of its order */
  run(client: Sandbox): Promise<string>;
}

const HOUR_SECONDS = 3600;
const POLL_MS = 200;
/** 300 polls of 200 ms: one minute. */
const MOST_POLLS = 300;
const REASON = 'It never arrived at my door';

async function create({ orders }: Sandbox): Promise<Order> {
  return orders.create({
    amount: '499.50',
    buyerEmail: 'asha@example.com',
    buyerPhone: '+919876543210',
    buyerName: 'Asha Rao',
    description: 'Blue kurta, size M',
    merchantOrderId: `SHOP-${randomUUID()}`,
  });
}

/** Runs the steps on a new order, one after the other. */
const steps =
  (...all: ((client: Sandbox, orderNumber: string) => Promise<unknown>)[]) =>
  async (client: Sandbox): Promise<string> => {
    const { order_number: orderNumber } = await create(client);
    for (const step of all) await step(client, orderNumber);
    return orderNumber;
  };

const pay = ({ sandbox }: Sandbox, order: string) => sandbox.pay(order);
const fail = ({ sandbox }: Sandbox, order: string) => sandbox.failPayment(order);
const deliver = ({ orders }: Sandbox, order: string) =>
  orders.deliver(order, { trackingId: 'IN123456789' });
const cancel = ({ orders }: Sandbox, order: string) => orders.cancel(order, { reason: 'Sold out' });
const refund = ({ orders }: Sandbox, order: string) => orders.refund(order, { reason: 'Sold out' });
const dispute = ({ sandbox }: Sandbox, order: string) => sandbox.dispute(order, { reason: REASON });
const evidence = ({ disputes }: Sandbox, order: string) =>
  disputes.submitEvidence(order, { text: 'The courier has a photo of the delivery' });
const resolve = ({ disputes }: Sandbox, order: string) =>
  disputes.resolve(order, { resolution: 'A new one is on its way' });
const accept = ({ disputes }: Sandbox, order: string) => disputes.accept(order);
const decideFor =
  (winner: 'merchant' | 'buyer') =>
  ({ sandbox }: Sandbox, order: string) =>
    sandbox.decide(order, { for: winner });
const hours =
  (count: number) =>
  ({ sandbox }: Sandbox, order: string) =>
    sandbox.advance(order, { seconds: count * HOUR_SECONDS });

const session = ({ orders }: Sandbox, order: string) => orders.openPaymentSession(order);
const latePayment = ({ sandbox }: Sandbox, order: string) => sandbox.latePayment(order);
const secondPayment = ({ sandbox }: Sandbox, order: string) => sandbox.secondPayment(order);
const failRefund = ({ sandbox }: Sandbox, order: string) => sandbox.failRefund(order);
const chargeback =
  (outcome: 'open' | 'won' | 'lost') =>
  ({ sandbox }: Sandbox, order: string) =>
    sandbox.chargeback(order, { outcome });
/** Polls the order until `isSo` is true. */
const until =
  (isSo: (order: Order) => boolean) =>
  async ({ orders }: Sandbox, order: string): Promise<void> => {
    for (let poll = 0; !isSo(await orders.get(order)); poll += 1) {
      if (poll === MOST_POLLS) throw new Error(`The service has not gone on with ${order}`);
      await delay(POLL_MS);
    }
  };

/** The webhooks up to a dispute after the delivery. */
const DISPUTED: readonly EventType[] = [
  'ORDER_CREATED',
  'PAYMENT_SUCCESS',
  'DELIVERY_CONFIRMED',
  'DISPUTE_RAISED',
];

/** Every scenario. Each is a test that compares the webhooks. */
export const SCENARIOS: readonly Scenario[] = [
  {
    id: 'completed',
    title: 'Paid, delivered, completed',
    text: 'The buyer pays, you deliver, 24 hours pass without a dispute, and the money is released to you.',
    webhooks: ['ORDER_CREATED', 'PAYMENT_SUCCESS', 'DELIVERY_CONFIRMED', 'ORDER_COMPLETED'],
    run: steps(pay, deliver, hours(24)),
  },
  {
    id: 'payment-fails-first',
    title: 'A payment fails, the next one succeeds',
    text: 'The order stays ACCEPTED after PAYMENT_FAILED, which may come several times: keep the order open.',
    webhooks: ['ORDER_CREATED', 'PAYMENT_FAILED', 'PAYMENT_FAILED', 'PAYMENT_SUCCESS'],
    run: steps(fail, fail, pay),
  },
  {
    id: 'cancelled',
    title: 'Cancelled by you',
    text: 'An order that is not paid can be cancelled. Put the goods back on sale when ORDER_CANCELLED comes.',
    webhooks: ['ORDER_CREATED', 'ORDER_CANCELLED'],
    run: steps(cancel),
  },
  {
    id: 'expired',
    title: 'The payment link expires',
    text: 'After 24 hours without a payment, the order is CANCELLED: `cancellation.by` is `expiry`.',
    webhooks: ['ORDER_CREATED', 'ORDER_CANCELLED'],
    run: steps(hours(24)),
  },
  {
    id: 'refunded',
    title: 'Paid, and refunded by you',
    text: 'You cannot fulfil the order. REFUND_PROCESSED comes once the gateway has refunded, not when you ask.',
    webhooks: ['ORDER_CREATED', 'PAYMENT_SUCCESS', 'REFUND_PROCESSED'],
    run: steps(pay, refund),
  },
  {
    id: 'dispute-resolved',
    title: 'A dispute that you resolve',
    text: 'The order is DELIVERED again, with a new window of 24 hours; then it is completed.',
    webhooks: [...DISPUTED, 'DISPUTE_RESOLVED', 'ORDER_COMPLETED'],
    run: steps(pay, deliver, dispute, resolve, hours(24)),
  },
  {
    id: 'dispute-accepted',
    title: 'A dispute that you accept',
    text: 'The buyer is refunded: `refund.reason` is `dispute_accepted`.',
    webhooks: [...DISPUTED, 'REFUND_PROCESSED'],
    run: steps(pay, deliver, dispute, accept),
  },
  {
    id: 'dispute-unanswered',
    title: 'A dispute that nobody answers',
    text: 'After 72 hours the buyer is refunded: `refund.reason` is `dispute_not_resolved_in_time`.',
    webhooks: [...DISPUTED, 'REFUND_PROCESSED'],
    run: steps(pay, deliver, dispute, hours(72)),
  },
  {
    id: 'dispute-review-unanswered',
    title: 'Evidence that is not decided in time',
    text: 'Evidence begins a review of 72 hours. If nothing is decided by then, the buyer is refunded.',
    webhooks: [...DISPUTED, 'REFUND_PROCESSED'],
    run: steps(pay, deliver, dispute, hours(71), evidence, hours(72)),
  },
  {
    id: 'dispute-decided-for-merchant',
    title: 'An operator decides for you',
    text: 'The order is DELIVERED again, and the buyer cannot raise another dispute.',
    webhooks: [...DISPUTED, 'DISPUTE_RESOLVED'],
    run: steps(pay, deliver, dispute, evidence, decideFor('merchant')),
  },
  {
    id: 'dispute-decided-for-buyer',
    title: 'An operator decides for the buyer',
    text: 'The buyer is refunded: `refund.reason` is `dispute_decided_for_buyer`.',
    webhooks: [...DISPUTED, 'REFUND_PROCESSED'],
    run: steps(pay, deliver, dispute, evidence, decideFor('buyer')),
  },
  {
    id: 'never-arrived',
    title: 'A dispute before the delivery',
    text: 'A buyer can raise a dispute on a PAID order, too: it never arrived.',
    webhooks: ['ORDER_CREATED', 'PAYMENT_SUCCESS', 'DISPUTE_RAISED', 'REFUND_PROCESSED'],
    run: steps(pay, dispute, accept),
  },
  {
    id: 'paid-late',
    title: 'A payment after the cancellation',
    text: 'The buyer pays the QR code of an order that you have cancelled. The payment is refunded in full, the order stays CANCELLED, and `refund` says so.',
    webhooks: ['ORDER_CREATED', 'ORDER_CANCELLED'],
    run: steps(
      session,
      cancel,
      latePayment,
      until(({ refund: made }) => made?.processed_at != null),
    ),
  },
  {
    id: 'paid-twice',
    title: 'A second payment',
    text: 'The buyer pays twice. The second payment is refunded in full; the timeline has it, and no webhook is sent for it.',
    webhooks: ['ORDER_CREATED', 'PAYMENT_SUCCESS', 'DELIVERY_CONFIRMED'],
    run: steps(pay, secondPayment, deliver),
  },
  {
    id: 'chargeback-won',
    title: 'A chargeback that you win',
    text: "The buyer's bank wants the payment back. While the chargeback is open, no money of the order moves; then you can refund it.",
    webhooks: ['ORDER_CREATED', 'PAYMENT_SUCCESS', 'REFUND_PROCESSED'],
    run: steps(pay, chargeback('open'), chargeback('won'), refund),
  },
  {
    id: 'chargeback-lost',
    title: 'A chargeback that you lose',
    text: 'The bank has taken the payment: `payment.reversed_amount` is the whole amount, and the order cannot be delivered.',
    webhooks: ['ORDER_CREATED', 'PAYMENT_SUCCESS'],
    run: steps(pay, chargeback('open'), chargeback('lost')),
  },
  {
    id: 'refund-fails',
    title: 'A refund that fails at the bank',
    text: 'The refund is made again. The order stays REFUNDED, `refund.processed_at` is null meanwhile, and no second event comes.',
    webhooks: ['ORDER_CREATED', 'PAYMENT_SUCCESS', 'REFUND_PROCESSED'],
    run: steps(
      pay,
      refund,
      until(({ status }) => status === 'REFUNDED'),
      failRefund,
      until(({ refund: made }) => made?.processed_at != null),
    ),
  },
  {
    id: 'answer-lost',
    title: 'The API answers 500 after it has worked',
    text: 'The client repeats the call with the same idempotency key, and nothing happens twice.',
    webhooks: ['ORDER_CREATED', 'PAYMENT_SUCCESS', 'DELIVERY_CONFIRMED'],
    run: steps(pay, async (client, order) => {
      await client.sandbox.failAfterWork();
      await deliver(client, order);
    }),
  },
];

/** The scenario with which an event can be caused: the shortest one. */
export function scenarioOf(event: string): Scenario | undefined {
  const [first] = SCENARIOS.filter(({ webhooks }) => webhooks.includes(event)).toSorted(
    (left, right) => left.webhooks.length - right.webhooks.length,
  );
  return first;
}
