import { h } from 'preact';
import { readMoneyDays } from '../../ledger/public.ts';
import type { ApplicationState, FirstSteps } from '../../onboarding/public.ts';
import { readApplication, readFirstSteps } from '../../onboarding/public.ts';
import type { AttentionList } from '../../orders/public.ts';
import { MOST_COUNTED } from '../../orders/public.ts';
import { rupeesText } from '../../pages/format.ts';
import { heldSection, moneySection, paymentSuccess, periodBar } from '../money/money-section.ts';
import { addDays, daysOf, periodQuery, readPeriod } from '../money/period.ts';
import type { AttentionItem } from '../settings/parts.ts';
import { webhookAttention } from '../settings/parts.ts';
import { emptyState, moment, section, stepper } from '../view/parts.ts';
import { icon, link, pathWith } from '../view/url.ts';
import type { MerchantViewer } from '../viewer.ts';
import { ownerOf, pathOf } from '../viewer.ts';
import type { OrderPagesDeps } from './parts.ts';
import { ordersPage } from './parts.ts';
import { ordersPlot } from './plot.ts';

export const homePage = ordersPage('GET /', { query: periodQuery }).handledBy(
  async ({ viewer, query }, deps) => {
    const owner = ownerOf(viewer);
    const { period, state } = readPeriod(query);
    const [steps, items, moneyDays, [before, ...orders], due] = await Promise.all([
      readFirstSteps(deps.sql, owner),
      readAttention(deps, viewer),
      readMoneyDays(deps.sql, owner),
      deps.orders.countByDay(owner, [period.beforeFrom, ...daysOf(period), addDays(period.to, 1)]),
      deps.orders.readDueReleases(owner),
    ]);
    if (before === undefined) throw new Error('The period before has counts, also without orders');
    const statementsPath = pathOf(viewer, '/statements');
    const content = [
      firstSteps(viewer, steps),
      h(
        'div',
        { class: 'split even' },
        h('div', null, section('attention', 'Needs attention', attentionList(items))),
        h('div', null, heldSection(moneyDays, due)),
      ),
      periodBar(period, state, pathOf(viewer, '')),
      moneySection({ period, moneyDays, statementsPath }),
      section(
        'orders',
        'Orders',
        h(
          'div',
          { class: 'measured' },
          h('div', null, paymentSuccess(orders, [before], period)),
          h('div', null, ordersPlot(orders)),
        ),
      ),
    ];
    const isValid = Object.keys(state.violations ?? {}).length === 0;
    return { status: isValid ? 200 : 400, view: { title: 'Home', content } };
  },
);

function attentionList(items: readonly AttentionItem[]) {
  if (items.length === 0) return emptyState('Nothing waits for you.', 'circle-check');
  return h(
    'ul',
    { class: 'list todo' },
    items.map(({ text, to, until, isFault }) =>
      h(
        'li',
        { key: to, class: isFault ? 'bad' : undefined },
        icon(isFault ? 'triangle-alert' : until ? 'clock' : 'circle-dashed'),
        link(to, text),
        until && [' ', h('span', { class: 'due' }, 'by ', moment(until))],
        icon('chevron-right'),
      ),
    ),
  );
}

/** Everything that waits for the merchant, by deadline; what has failed comes first, what has no deadline last. */
async function readAttention(
  { sql, orders }: OrderPagesDeps,
  viewer: MerchantViewer,
): Promise<AttentionItem[]> {
  const [{ disputes, undelivered }, { state }, webhooks] = await Promise.all([
    orders.readAttention(ownerOf(viewer)),
    readApplication(sql, viewer.merchantId),
    webhookAttention(sql, ownerOf(viewer)),
  ]);
  const found = [
    ...accountItems(viewer, state),
    ...disputeItems(viewer, disputes),
    ...undeliveredItems(viewer, undelivered),
    ...webhooks,
  ];
  const untilMs = ({ until, isFault }: AttentionItem) =>
    isFault ? 0 : (until?.getTime() ?? Infinity);
  return found.sort((one, two) => untilMs(one) - untilMs(two) || 0);
}

/** The merchant's next step for its account; null where it only waits, or is done. */
const ACCOUNT_TEXTS = {
  draft: 'Finish your application',
  under_review: null,
  rejected: 'Your application was rejected: read why, and submit it again',
  suspended: 'Your account is suspended: nothing is released to you',
  not_ready: 'Your account cannot take payments yet',
  approved: null,
} as const satisfies Record<ApplicationState, string | null>;

function accountItems(viewer: MerchantViewer, state: ApplicationState): AttentionItem[] {
  const text = ACCOUNT_TEXTS[state];
  // In the sandbox the merchant can take payments.
  if (state === 'not_ready' && viewer.environment === 'sandbox') return [];
  return text === null ? [] : [{ text, to: pathOf(viewer, '/onboarding'), until: null }];
}

function disputeItems(viewer: MerchantViewer, { orders, count }: AttentionList): AttentionItem[] {
  const items = orders.map((order) => ({
    text: `Answer the dispute of ${rupeesText(order.amountPaise)} on ${nameOf(order)}`,
    to: pathOf(viewer, `/orders/${encodeURIComponent(order.orderNumber)}`),
    until: order.disputeRespondBy,
  }));
  const more = count - orders.length;
  if (more === 0) return items;
  const text = `Answer ${countText(count)} disputes in all`;
  return [...items, { text, to: pathOf(viewer, '/disputes'), until: null }];
}

function undeliveredItems(
  viewer: MerchantViewer,
  { orders, count }: AttentionList,
): AttentionItem[] {
  const [oldest] = orders;
  if (oldest === undefined) return [];
  const only = `Mark ${nameOf(oldest)} as delivered: it was paid more than 24 hours ago`;
  const several = `Mark ${countText(count)} orders as delivered: they were paid more than 24 hours ago`;
  return [
    count === 1
      ? { text: only, to: pathOf(viewer, `/orders/${oldest.orderNumber}`), until: null }
      : {
          text: several,
          to: pathWith(pathOf(viewer, '/orders'), { status: 'PAID' }),
          until: null,
        },
  ];
}

const countText = (count: number) =>
  count > MOST_COUNTED ? `more than ${MOST_COUNTED}` : String(count);
const nameOf = ({ merchantOrderId, orderNumber }: AttentionList['orders'][number]) =>
  `order ${merchantOrderId ?? orderNumber}`;

/** The first steps, ticked once they are done; nothing when all are done. */
function firstSteps(viewer: MerchantViewer, done: FirstSteps) {
  const steps = [
    [done.isApproved, 'Have your business approved', pathOf(viewer, '/onboarding')],
    [done.hasKey, 'Generate an API key', pathOf(viewer, '/keys')],
    [done.getsEvents, 'Set a webhook URL', pathOf(viewer, '/webhooks')],
    [done.hasOrder, 'Create an order', '/docs'],
    [done.hasEvent, 'Accept a webhook', pathOf(viewer, '/webhooks')],
  ] as const;
  const next = steps.findIndex(([isDone]) => !isDone);
  if (next === -1) return null;
  return section(
    'first-steps',
    'First steps',
    stepper(
      'First steps',
      steps.map(([isDone, title, path], index) => ({
        title,
        state: isDone ? 'done' : index === next ? 'current' : 'open',
        to: link(path, title),
      })),
    ),
  );
}
