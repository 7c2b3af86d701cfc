import { describe, expect } from 'vitest';
import { raiseDisputeForBuyer } from '../../src/orders/commands/operator-commands.ts';
import type { DisputeRecord } from '../../src/orders/steps/disputes.ts';
import { listDisputes } from '../../src/orders/lists/list-disputes.ts';
import type { Order } from '../../src/orders/schemas.ts';
import type { AdminCli } from '../support/admin-cli.ts';
import type { Merchant } from '../support/merchant.ts';
import { operatorOf } from '../support/operator-of.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';

const REASON = 'The parcel holds a brick\u001b[2J instead of a kurta';
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const ASHA = { name: 'cli:asha', address: null };

const test = serviceTest({ time: 'real' });

const post = (merchant: Merchant, { order_number }: Order, path: string, body?: unknown) =>
  merchant.sandbox.post(`/orders/${order_number}/${path}`, body);
const decide = (cli: AdminCli, { order_number }: Order, winner: string, reason: string) => {
  const command = ['dispute', 'decide', '--order', order_number];
  return cli.json(...command, '--for', winner, '--reason', reason);
};

async function disputedOrder(
  merchant: Merchant,
  overrides: Record<string, unknown> = {},
): Promise<Order> {
  const order = await merchant.sandbox.create(overrides);
  await merchant.sandbox.help(order, 'pay');
  return (await merchant.sandbox.help(order, 'dispute', { reason: REASON })).body.data;
}

describe('order show', () => {
  const show = ({ order_number }: Order) => ['order', 'show', '--order', order_number];

  test('shows everything about an order that an operator needs', async ({ merchant, cli }) => {
    const order = await disputedOrder(merchant, { merchantOrderId: 'cart-77', buyerName: 'Asha' });
    const shown = await cli.json<{ payments: { utr: string }[] }>(...show(order));
    expect(shown).toMatchObject({
      orderNumber: order.order_number,
      merchantId: merchant.merchantId,
      environment: 'sandbox',
      merchantOrderId: 'cart-77',
      status: 'DISPUTE_OPEN',
      amountPaise: 49_950,
      buyer: { email: 'asha@example.com', phone: '+919876543210', name: 'Asha' },
      doing: null,
      inWords: "The buyer disputes the order. Waiting for the merchant's evidence or resolution.",
      next: { at: ISO, action: 'the dispute is unresolved; the buyer is refunded' },
      payments: [
        {
          gatewayPaymentId: expect.stringMatching(/^pay_/),
          utr: expect.stringMatching(/^\d{12}$/),
          amountPaise: 49_950,
          isOrders: true,
          surplusReason: null,
        },
      ],
      sessions: [{ state: 'PAID' }],
      money: { heldPaise: 49_950, releasedPaise: 0, refundedPaise: 0, surplusPaise: 0 },
      settledOutside: null,
      disputes: [{ number: 1, reason: REASON, endedAt: null }],
      deliveries: [
        { event: 'DISPUTE_RAISED' },
        { event: 'PAYMENT_SUCCESS' },
        { event: 'ORDER_CREATED' },
      ],
      workflows: [{ workflowId: order.order_number, status: 'RUNNING', link: null }],
      gatewayCalls: [],
      temporalProblem: null,
    });
  });

  test('prints it for reading, and escapes text of others for the terminal', async ({
    merchant,
    cli,
  }) => {
    const order = await disputedOrder(merchant, { description: 'कुर्ता\u200d \u009b31m' });
    const { code, stdout } = await cli.run(...show(order));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Status +DISPUTE_OPEN$/m);
    expect(stdout).toMatch(/^Next +\d{4}-\d\d-\d\d [\d:]+Z the dispute is unresolved; the buyer/m);
    expect(stdout).toMatch(/^Held +INR 499\.50$/m);
    expect(stdout).toMatch(
      /^ {2}Reason +The parcel holds a brick\u{FFFD}\[2J instead of a kurta$/mu,
    );
    expect(stdout).toMatch(/^Description +कुर्ता\u200d \u{FFFD}31m$/mu);
    expect(stdout).toMatch(new RegExp(`^${order.order_number} +RUNNING +\\S{30,}$`, 'm'));
    expect(stdout).toMatch(/^dlv_\S+ +DISPUTE_RAISED +/m);
  });

  test('shows where the money went once it has moved', async ({ merchant, cli }) => {
    const order = await disputedOrder(merchant);
    await post(merchant, order, 'dispute/accept');
    await until(async () => {
      const { data } = (await merchant.sandbox.get(`/orders/${order.order_number}`)).body;
      return data.status === 'REFUNDED';
    });
    expect(await cli.json(...show(order))).toMatchObject({
      status: 'REFUNDED',
      next: null,
      money: { heldPaise: 0, refundedPaise: 49_950 },
      refund: { amountPaise: 49_950, reason: 'dispute_accepted', processedAt: ISO },
    });
  });

  test('of an unknown order is one line', async ({ cli }) => {
    expect(await cli.refusal('order', 'show', '--order', 'ORDX')).toBe('Order not found: ORDX');
  });
});

describe('disputes', () => {
  test('are listed while they run, nearest deadline first', async ({ service }) => {
    const other = await service.newMerchant({ webhooks: false });
    const { merchantId } = other;
    const list = (name: 'running' | 'open' | 'underReview' = 'running', limit = 50) =>
      listDisputes(service.sql, { merchantId }, name, { skip: 0, limit });
    const [first, second, third] = await Promise.all([1, 2, 3].map(() => other.sandbox.create()));
    for (const order of [first, second, third]) {
      await other.sandbox.help(order!, 'pay');
      await other.sandbox.help(order!, 'dispute', { reason: REASON });
    }
    const evidence = { text: 'It was sent' };
    await other.sandbox.post(`/orders/${second!.order_number}/dispute/evidence`, evidence);
    await other.sandbox.help(third!, 'advance', { seconds: 3600 });
    const { rows: disputes, ...all } = await list();
    expect(all).toEqual({ total: { count: 3, isMore: false }, hasMore: false });
    expect(disputes.map(({ orderNumber, status }) => [orderNumber, status])).toEqual([
      [third!.order_number, 'DISPUTE_OPEN'],
      [first!.order_number, 'DISPUTE_OPEN'],
      [second!.order_number, 'DISPUTE_UNDER_REVIEW'],
    ]);
    expect(disputes[0]).toMatchObject({
      merchantId,
      amountPaise: 49_950,
      disputeCount: 1,
      disputeRaisedAt: expect.any(Date),
      disputeRespondBy: expect.any(Date),
      pendingOperation: null,
    });
    expect((await list('open')).rows).toEqual(disputes.slice(0, 2));
    expect((await list('underReview')).rows).toEqual([disputes[2]]);
    expect(await list('running', 1)).toEqual({
      rows: disputes.slice(0, 1),
      total: { count: 3, isMore: false },
      hasMore: true,
    });
    const production = { merchantId, environment: 'production' } as const;
    const part = { skip: 0, limit: 50 };
    expect((await listDisputes(service.sql, production, 'running', part)).rows).toEqual([]);
    const resolution = { resolution: 'A new one is on its way' };
    await other.sandbox.post(`/orders/${first!.order_number}/dispute/resolve`, resolution);
    expect((await list()).rows).toHaveLength(2);
  });

  test('of one order are shown with the texts of both sides, the earlier ones too', async ({
    merchant,
    cli,
    service,
  }) => {
    const order = await disputedOrder(merchant);
    await post(merchant, order, 'dispute/resolve', { resolution: 'A new one is on its way' });
    const raise = (reason: string) =>
      raiseDisputeForBuyer(operatorOf(service, ASHA), order.order_number, reason);
    await raise('It is torn at the sleeve');
    await post(merchant, order, 'dispute/evidence', { text: 'It was whole when it left' });
    await decide(cli, order, 'merchant', 'The photo shows another kurta');
    // The buyer cannot raise another one.
    await raise('Nobody answers my letters');
    await post(merchant, order, 'dispute/evidence', { text: 'No letter came' });
    await decide(cli, order, 'buyer', 'The letters were sent');
    await until(async () => {
      const { data } = (await merchant.sandbox.get(`/orders/${order.order_number}`)).body;
      return data.status === 'REFUNDED';
    });
    const show = ['order', 'show', '--order', order.order_number];
    const { disputes, status } = await cli.json<{ disputes: DisputeRecord[]; status: string }>(
      ...show,
    );
    expect(status).toBe('REFUNDED');
    const actor = expect.stringMatching(/^cli:/);
    expect(disputes).toEqual([
      {
        number: 1,
        raisedAt: ISO,
        raisedBy: 'buyer',
        reason: REASON,
        evidenceAt: null,
        evidence: null,
        endedAt: ISO,
        ending: 'resolved_by_merchant',
        resolution: 'A new one is on its way',
        decision: null,
      },
      {
        number: 2,
        raisedAt: ISO,
        raisedBy: ASHA.name,
        reason: 'It is torn at the sleeve',
        evidenceAt: ISO,
        evidence: 'It was whole when it left',
        endedAt: ISO,
        ending: 'decided_for_merchant',
        resolution: null,
        decision: { for: 'merchant', reason: 'The photo shows another kurta', actor },
      },
      {
        number: 3,
        raisedAt: ISO,
        raisedBy: ASHA.name,
        reason: 'Nobody answers my letters',
        evidenceAt: ISO,
        evidence: 'No letter came',
        endedAt: ISO,
        ending: 'decided_for_buyer',
        resolution: null,
        decision: { for: 'buyer', reason: 'The letters were sent', actor },
      },
    ]);
    const { stdout } = await cli.run(...show);
    expect(stdout).toMatch(/^Dispute 1\n( .*\n)* {2}Ending +resolved_by_merchant$/m);
    expect(stdout).toMatch(/^Dispute 3\n( .*\n)* {2}Decision reason +The letters were sent$/m);
  });
});
