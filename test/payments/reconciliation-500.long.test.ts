import { expect } from 'vitest';
import { payAtGateway, reconcileLater, sessionOf, simulator } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { cancelPatiently } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { inParallel } from '../support/in-parallel.ts';

const ORDERS = 500;
const AMOUNT_PAISE = 49_950;

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

interface Buyer {
  pay(attempt?: { vpa?: string; amountPaise?: number; late?: boolean }): Promise<string>;
  cancel(): Promise<unknown>;
}
/** What buyers and merchants do, and the expected result: status, and the refunded amount. */
interface Story {
  name: string;
  happens(buyer: Buyer): Promise<unknown>;
  ends: { status: string; failures: number | null; refundedPaise: number };
}

const FAILING = { vpa: 'failure@razorpay' };
const PAID = { status: 'PAID', failures: 0, refundedPaise: 0 };
const STORIES: Story[] = [
  ...[1, 2, 3, 4, 5].map((number): Story => ({
    name: `pays (${number})`,
    happens: ({ pay }) => pay(),
    ends: PAID,
  })),
  {
    name: 'fails, then pays',
    async happens({ pay }) {
      await pay(FAILING);
      await pay();
    },
    // Sent only if the failure is reported before the payment.
    ends: { ...PAID, failures: null },
  },
  {
    name: 'fails',
    happens: ({ pay }) => pay(FAILING),
    ends: { status: 'ACCEPTED', failures: 1, refundedPaise: 0 },
  },
  {
    name: 'pays too little',
    happens: ({ pay }) => pay({ amountPaise: AMOUNT_PAISE - 100 }),
    ends: { status: 'ACCEPTED', failures: 0, refundedPaise: AMOUNT_PAISE - 100 },
  },
  {
    name: 'pays after the cancel',
    async happens({ pay, cancel }) {
      await cancel();
      await pay({ late: true });
    },
    ends: { status: 'CANCELLED', failures: 0, refundedPaise: AMOUNT_PAISE },
  },
  {
    name: 'does not pay',
    happens: async () => undefined,
    ends: { status: 'ACCEPTED', failures: 0, refundedPaise: 0 },
  },
];

const storyOf = new Map<string, Story>();

async function live(service: TestService, merchant: Merchant, story: Story): Promise<void> {
  const { order_number } = await merchant.sandbox.create();
  storyOf.set(order_number, story);
  await merchant.sandbox.post(`/orders/${order_number}/payment-sessions`);
  const { gatewaySessionId } = await sessionOf(service, { order_number });
  await story.happens({
    pay: (attempt) => payAtGateway(service, gatewaySessionId, attempt),
    cancel: () => cancelPatiently(merchant.sandbox, { order_number }),
  });
}

/** The orders that do not have the expected result. */
async function unfinished(service: TestService): Promise<string[]> {
  const rows = await service.sql<Record<string, string | number>[]>`
    SELECT order_number, status,
      (SELECT count(*) FROM order_events e
        WHERE e.order_number = o.order_number AND e.type = 'PAYMENT_FAILED') AS failures,
      (SELECT coalesce(sum(s.amount_paise), 0)::bigint FROM surplus_refunds s
        WHERE s.order_number = o.order_number AND s.processed_at IS NOT NULL) AS refunded_paise
    FROM orders o WHERE pending_operation IS NULL`;
  const ended = new Map(rows.map((row) => [row['orderNumber'], row]));
  return [...storyOf].flatMap(([orderNumber, { name, ends }]) => {
    const { status, failures, refundedPaise } = ended.get(orderNumber) ?? {};
    const reported = ends.failures === null ? null : failures;
    const is = JSON.stringify({ status, failures: reported, refundedPaise });
    return is === JSON.stringify(ends) ? [] : [`${orderNumber} ${name}: ${is}`];
  });
}

test('of 500 orders with callbacks shuffled, doubled and 30 % dropped, every order ends correctly within 5 minutes', async ({
  service,
  merchant,
}) => {
  await simulator(service, 'PATCH', '/callbacks', {
    dropProbability: 0.3,
    duplicateProbability: 0.5,
    delayMs: { min: 0, max: 3000 },
  });
  const stories = Array.from({ length: ORDERS }, (_, index) => STORIES[index % STORIES.length]!);
  await inParallel(stories, 8, (story) => live(service, merchant, story));
  await simulator(service, 'POST', '/callbacks/idle');
  const lost = await unfinished(service);
  expect(lost.length).toBeGreaterThan(ORDERS / 50);

  await reconcileLater(service);
  await reconcileLater(service);
  // A busy machine may lose an activity, whose retry takes 30 s.
  await expect.poll(() => unfinished(service)).toEqual([]);
  // The funds of the last payments are held at the gateway, too.
  for (let more = 0; more < 3; more += 1) await reconcileLater(service);

  const [ledger] = await service.sql`
    SELECT sum(amount_paise) FILTER (WHERE credit_account = 'merchant_held')::bigint AS held,
      sum(amount_paise) FILTER (WHERE credit_account = 'surplus')::bigint
        - sum(amount_paise) FILTER (WHERE credit_account = 'refunds')::bigint AS surplus
    FROM ledger_transfers`;
  const perStory = ORDERS / STORIES.length;
  expect(ledger).toEqual({ held: 6 * perStory * AMOUNT_PAISE, surplus: 0 });
  expect(await simulator(service, 'GET', '/totals')).toMatchObject({
    isBalanced: true,
    heldPaise: 6 * perStory * AMOUNT_PAISE,
    platformPaise: 0,
  });
});
