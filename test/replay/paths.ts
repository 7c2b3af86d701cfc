import { randomUUID } from 'node:crypto';
import type { OrderStatus, Settlement } from '../../src/domain/index.ts';
import { writeDispute } from '../../src/orders/commands/command-queries.ts';
import { openSession } from '../../src/payments/sessions/sessions.ts';
import { atRazorpay, breakGateway, CLOSING, simulator } from '../support/gateway.ts';
import type { DirectOrder, OrderOverrides } from '../support/orders.ts';
import {
  directOrder,
  startOrder,
  startOrderIn,
  untilItSends,
  writeOrder,
} from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { A_BUYER } from '../support/actor.ts';

/** The environment of the paths: a service in real time whose worker can be stopped. */
export interface PathContext {
  service: TestService;
  merchantId: string;
  /** A merchant whose endpoint refuses webhooks, so that its workflows wait after their orders are final. */
  deafMerchantId: string;
  whileNoWorkerRuns<T>(action: () => Promise<T>): Promise<T>;
}
/** Brings a new order to the end of its history. */
export type Path = (context: PathContext) => Promise<DirectOrder>;

const LONG_MS = 86_400_000;
/** A deadline that passes during the path. */
const SHORT_MS = 1500;
const environment = 'sandbox' as const;
/** The funds are released during the path. */
export const endsSoon = { environment, completionWindowMs: SHORT_MS, disputeAnswerMs: LONG_MS };
const answersSoon = { environment, completionWindowMs: LONG_MS, disputeAnswerMs: SHORT_MS };

/** A deadline that passed 20 minutes before it was set, so that it is handled late. */
const LATE_MS = -1_200_000;
const endsLate = { environment, completionWindowMs: LATE_MS, disputeAnswerMs: LONG_MS };
const answersLate = { environment, completionWindowMs: LONG_MS, disputeAnswerMs: LATE_MS };

export const start = (
  { service, merchantId }: PathContext,
  status: Parameters<typeof startOrderIn>[1],
  overrides: Partial<OrderOverrides> = {},
) => startOrderIn(service, status, { merchantId, ...overrides });

/** From a status by these Updates to the end of the workflow. */
const walk =
  (
    status: Parameters<typeof startOrderIn>[1],
    updates: [name: Parameters<DirectOrder['update']>[0], message?: object][],
    overrides: Partial<OrderOverrides> = {},
  ): Path =>
  async (context) => {
    const order = await start(context, status, overrides);
    for (const [name, message] of updates) await order.update(name, message);
    return order;
  };

export async function withSession(context: PathContext, overrides: Partial<OrderOverrides> = {}) {
  const { service, merchantId } = context;
  const row = await writeOrder(service, { merchantId, ...overrides });
  const order = directOrder(service, row);
  await order.start();
  await order.untilBegun();
  const { session } = await openSession(service.deps, await order.row());
  return { order, gatewaySessionId: session.gatewaySessionId ?? '' };
}

async function settleOutside(
  { service }: PathContext,
  { orderNumber, update }: DirectOrder,
  outcome: Settlement,
) {
  await service.sql`
    INSERT INTO outside_settlements (order_number, outcome, amount_paise, reason, actor)
    VALUES (${orderNumber}, ${outcome}, 49950, 'The gateway was away', 'operator')`;
  await update('settle', { commandId: `settle:${orderNumber}`, outcome });
}

/** An operator ends an order in that status. */
function settledIn(status: OrderStatus, outcome: Settlement): Path {
  return async (context) => {
    const order = await start(context, status);
    await settleOutside(context, order, outcome);
    return order;
  };
}

/** An operator ends an order whose release the gateway does not make. */
function releaseSettled(outcome: Settlement): Path {
  return async (context) => {
    const order = await start(context, 'PAID', { terms: endsSoon });
    const { endFault, hits } = await breakGateway(context.service, { kind: 'error' });
    await order.update('deliver');
    await order.untilStep('RELEASE_STARTED');
    await until(async () => (await hits()) > 0);
    await settleOutside(context, order, outcome);
    await endFault();
    return order;
  };
}

/** An operator ends an order whose refund the gateway does not make. */
function refundSettled(outcome: Settlement): Path {
  return async (context) => {
    const order = await start(context, 'DISPUTE_OPEN');
    const { endFault, hits } = await breakGateway(context.service, { kind: 'error' });
    await order.update('accept');
    await until(async () => (await hits()) > 0);
    await settleOutside(context, order, outcome);
    await endFault();
    return order;
  };
}

/**
 * One for each path through the table, and for events beside it. The names are the file names. The paths of
 * orders whose two sides differ are in `divergences.ts`.
 */
export const PATHS: Record<string, Path> = {
  completed: walk('PAID', [['deliver']], { terms: endsSoon }),
  'cancelled-by-merchant': walk('ACCEPTED', [['cancel']]),
  'cancelled-by-expiry': walk('ACCEPTED', [], { paymentLinkMs: SHORT_MS }),
  'payment-failed-twice-then-cancelled': walk('ACCEPTED', [
    ['failPayment'],
    ['failPayment'],
    ['cancel'],
  ]),
  'disputed-from-paid-then-resolved': walk('PAID', [['dispute'], ['resolve']], { terms: endsSoon }),
  'disputed-then-resolved': walk('PAID', [['deliver'], ['dispute'], ['resolve']], {
    terms: endsSoon,
  }),
  'disputed-then-unresolved': walk('DELIVERED', [['dispute']], { terms: answersSoon }),
  'disputed-then-accepted': walk('DISPUTE_OPEN', [['accept']]),
  'under-review-then-unresolved': walk('DELIVERED', [['dispute'], ['submitEvidence']], {
    terms: answersSoon,
  }),
  'under-review-then-resolved': walk(
    'PAID',
    [['deliver'], ['dispute'], ['submitEvidence'], ['resolve']],
    { terms: endsSoon },
  ),
  'under-review-then-accepted': walk('DISPUTE_UNDER_REVIEW', [['accept']]),
  'under-review-then-decided-for-buyer': walk('DISPUTE_UNDER_REVIEW', [
    ['decide', { for: 'buyer' }],
  ]),
  'under-review-then-decided-for-merchant': walk(
    'PAID',
    [['deliver'], ['dispute'], ['submitEvidence'], ['decide', { for: 'merchant' }]],
    { terms: endsSoon },
  ),
  'open-dispute-decided-for-buyer': walk('DISPUTE_OPEN', [['decide', { for: 'buyer' }]]),
  'open-dispute-decided-for-merchant': walk('DISPUTE_OPEN', [['decide', { for: 'merchant' }]], {
    terms: endsSoon,
  }),
  'refunded-by-merchant': walk('PAID', [['refund']]),
  'delivered-then-refunded-by-merchant': walk('DELIVERED', [['refund']]),
  'disputed-twice': walk(
    'DELIVERED',
    [['dispute'], ['resolve'], ['dispute'], ['submitEvidence'], ['resolve']],
    { terms: endsSoon },
  ),
  'disputed-five-times': async (context) => {
    const terms = { ...endsSoon, completionWindowMs: 4 * SHORT_MS };
    const order = await start(context, 'DELIVERED', { terms });
    for (let number = 1; number < 5; number += 1) {
      await order.update('dispute');
      await order.update('resolve');
    }
    await order.update('dispute');
    await order.refusalOf('resolve');
    await order.update('submitEvidence');
    await order.update('decide', { for: 'merchant' });
    return order;
  },

  'payment-link-handled-late': async (context) => {
    const order = await start(context, 'ACCEPTED', { paymentLinkMs: LATE_MS });
    await order.untilStep('DEADLINE_EXTENDED');
    await order.update('cancel');
    return order;
  },

  'window-handled-late': async (context) => {
    const order = await start(context, 'DELIVERED', { terms: endsLate });
    await order.untilStep('DEADLINE_EXTENDED');
    await order.update('refund');
    return order;
  },

  'dispute-answers-handled-late': async (context) => {
    const order = await start(context, 'DISPUTE_OPEN', { terms: answersLate });
    const isExtended = async (times: number) =>
      (await order.steps()).filter(({ kind }) => kind === 'DEADLINE_EXTENDED').length === times;
    await until(() => isExtended(1));
    await order.update('submitEvidence');
    await until(() => isExtended(2));
    await order.update('accept');
    return order;
  },

  'clock-advanced': walk('DELIVERED', [
    ['advance', { seconds: 3600 }],
    ['advance', { seconds: 86_400 }],
  ]),

  'clock-advanced-in-every-status': async (context) => {
    const order = await start(context, 'ACCEPTED', { terms: endsSoon });
    const advance = () => order.update('advance', { seconds: 1 });
    await advance();
    await order.pay();
    for (const name of ['dispute', 'submitEvidence', 'resolve'] as const) {
      await advance();
      await order.update(name);
    }
    await advance();
    return order;
  },

  'paid-before-the-first-task': async (context) => {
    const { service, merchantId } = context;
    const order = await context.whileNoWorkerRuns(async () => {
      const unborn = await startOrder(service, { merchantId, terms: endsSoon });
      await unborn.signal('pay', atRazorpay(await unborn.capture()));
      return unborn;
    });
    await order.untilStatus('PAID');
    await order.update('deliver');
    return order;
  },

  'several-messages-in-one-activation': async (context) => {
    const order = await start(context, 'PAID', { terms: endsSoon });
    await context.whileNoWorkerRuns(async () => {
      for (const name of ['deliver', 'dispute', 'resolve', 'cancel'] as const) {
        await order.signal(name);
      }
    });
    return order;
  },

  'messages-that-cannot-be-done': async (context) => {
    const order = await start(context, 'ACCEPTED');
    await order.signal('deliver');
    await order.signal('decide', { for: 'nobody' });
    await order.signal('pay', atRazorpay('pay_forged'));
    await order.refusalOf('pay', atRazorpay('pay_forged'));
    await order.refusalOf('resolve');
    await order.update('cancel');
    return order;
  },

  'workflow-cancellation-asked-for': async (context) => {
    const order = await start(context, 'PAID', { terms: endsSoon });
    await order.handle.cancel();
    await order.signal('deliver');
    return order;
  },

  'dispute-found-at-the-release': async (context) => {
    const { service } = context;
    const order = await start(context, 'DELIVERED', { terms: endsSoon });
    const dispute = {
      commandId: `dispute:${randomUUID()}`,
      reason: 'It never arrived',
      actor: A_BUYER,
    };
    await writeDispute(service.sql, order.orderNumber, dispute);
    await order.untilStatus('DISPUTE_OPEN');
    await order.update('accept');
    return order;
  },

  'capture-too-late-given-back': async ({ service, deafMerchantId: merchantId }) => {
    const order = await startOrder(service, { merchantId });
    await untilItSends(order);
    await order.update('cancel');
    await order.signal('pay', atRazorpay(await order.capture()));
    await until(async () => (await order.row()).refundProcessedAt !== null);
    return order;
  },

  'cancelled-with-a-session-open': async (context) => {
    const { order } = await withSession(context);
    await order.update('cancel');
    return order;
  },

  'expired-with-a-session-open': async (context) => {
    const { order } = await withSession(context, { paymentLinkMs: SHORT_MS });
    return order;
  },

  'cancel-finds-the-session-paid': async (context) => {
    const { order, gatewaySessionId } = await withSession(context, { terms: endsSoon });
    await simulator(context.service, 'POST', `/qr_codes/${gatewaySessionId}/pay`);
    await order.refusalOf('cancel');
    await order.update('deliver');
    return order;
  },

  'payment-fails-while-its-session-is-closed': async (context) => {
    const { order } = await withSession(context);
    const { endFault } = await breakGateway(context.service, {
      kind: 'late',
      path: CLOSING,
      delayMs: 1500,
    });
    const cancelled = order.update('cancel');
    await order.untilStep('CLOSING_PAYMENT');
    await order.update('failPayment');
    await cancelled;
    await endFault();
    return order;
  },

  'refund-refused-while-a-dispute-waits': async (context) => {
    const { service } = context;
    const order = await start(context, 'PAID');
    const dispute = {
      commandId: `dispute:${randomUUID()}`,
      reason: 'It never arrived',
      actor: A_BUYER,
    };
    await writeDispute(service.sql, order.orderNumber, dispute);
    await order.refusalOf('refund');
    await order.update('dispute', { commandId: dispute.commandId });
    await order.update('accept');
    return order;
  },

  'cancel-while-the-gateway-is-away': async (context) => {
    const { order } = await withSession(context);
    await simulator(context.service, 'POST', '/faults', { kind: 'error' });
    await order.refusalOf('cancel');
    await simulator(context.service, 'DELETE', '/faults');
    // For some seconds after the failure a cancel is refused, which leaves no event.
    await until(async () => (await order.refusalOf('cancel')) === undefined);
    return order;
  },

  'settled-outside': releaseSettled('released'),
  'release-settled-as-refunded': releaseSettled('refunded'),
  'refund-settled-outside': refundSettled('refunded'),
  'refund-settled-as-released': refundSettled('released'),
  'paid-settled-as-refunded': settledIn('PAID', 'refunded'),
  'delivered-settled-as-released': settledIn('DELIVERED', 'released'),
  'delivered-settled-as-refunded': settledIn('DELIVERED', 'refunded'),
  'disputed-settled-as-released': settledIn('DISPUTE_OPEN', 'released'),
  'disputed-settled-as-refunded': settledIn('DISPUTE_OPEN', 'refunded'),
  'under-review-settled-as-released': settledIn('DISPUTE_UNDER_REVIEW', 'released'),
  'under-review-settled-as-refunded': settledIn('DISPUTE_UNDER_REVIEW', 'refunded'),

  'webhook-refused-and-still-waiting': async ({ service, deafMerchantId: merchantId }) => {
    const order = await startOrderIn(service, 'DELIVERED', { merchantId });
    await untilItSends(order);
    return order;
  },
};

/** Paths whose workflows wait for refused webhooks or for their row, so that their histories stay open. */
export const STILL_RUNNING = [
  'capture-too-late-given-back',
  'database-without-the-order',
  'webhook-refused-and-still-waiting',
];

/** Paths also saved by a worker with tracing: messages, timers and activities at the same time. */
export const TRACED_PATHS = [
  'cancel-finds-the-session-paid',
  'cancelled-with-a-session-open',
  'clock-advanced-in-every-status',
  'completed',
  'database-behind-found-by-a-command',
  'dispute-found-at-the-release',
  'disputed-twice',
  'ended-order-started-again',
  'paid-before-the-first-task',
  'payment-fails-while-its-session-is-closed',
  'several-messages-in-one-activation',
  'webhook-refused-and-still-waiting',
  'workflow-behind-found-by-a-command',
];

/** The path of a saved history; a path that was recorded again has several. */
export const pathOf = (name: string) => name.replace(/\.\d+$/, '');
