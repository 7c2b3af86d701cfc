import { h } from 'preact';
import type { OrderStatus } from '../../domain/index.ts';
import type { DayOfOrders } from '../../orders/public.ts';
import { numberText } from '../../pages/format.ts';
import { emptyState } from '../view/parts.ts';
import { shortDay, stackedPlot } from '../view/plot.ts';

/** The outcomes of the orders of a day, by what their statuses mean for the money. */
const TITLES = {
  completed: 'Completed',
  paid: 'Paid, not completed',
  disputed: 'Disputed',
  refunded: 'Refunded',
  cancelled: 'Cancelled',
  unpaid: 'Waiting for payment',
} as const;
type Outcome = keyof typeof TITLES;
const OUTCOMES = Object.keys(TITLES) as Outcome[];

const OUTCOME_OF = {
  ACCEPTED: 'unpaid',
  PAID: 'paid',
  DELIVERED: 'paid',
  DISPUTE_OPEN: 'disputed',
  DISPUTE_UNDER_REVIEW: 'disputed',
  COMPLETED: 'completed',
  REFUNDED: 'refunded',
  CANCELLED: 'cancelled',
} as const satisfies Record<OrderStatus, Outcome>;

type OutcomeDay = Record<Outcome, number> & { day: string };

function outcomesOf({ day, byStatus }: DayOfOrders): OutcomeDay {
  const counts = { day, completed: 0, paid: 0, disputed: 0, refunded: 0, cancelled: 0, unpaid: 0 };
  for (const [status, orders] of Object.entries(byStatus)) {
    counts[OUTCOME_OF[status as OrderStatus]] += orders;
  }
  return counts;
}

const totalOf = (day: OutcomeDay) => OUTCOMES.reduce((sum, outcome) => sum + day[outcome], 0);

/** 40K: short enough for the axis. */
const shortCount = new Intl.NumberFormat('en', { notation: 'compact' });

const TITLE = 'Orders by the day of their creation';
const NONE = 'There were no orders.';

/** Stacked bars, with the same figures in words for screen readers and as a table. */
export function ordersPlot(daysOfOrders: readonly DayOfOrders[]) {
  const days = daysOfOrders.map(outcomesOf);
  if (days.every((day) => totalOf(day) === 0)) return [emptyState(NONE)];
  return [
    h('h3', null, TITLE),
    stackedPlot({
      id: 'orders-plot',
      title: `${TITLE} and by outcome`,
      description: descriptionOf(days),
      titles: TITLES,
      rows: days,
      spanOf: ({ day }) => day,
      tickText: (orders) => shortCount.format(orders),
      readingText,
      table: {
        caption: `${TITLE} and by outcome, the latest day first`,
        empty: NONE,
        first: { Day: ({ day }) => shortDay(day) },
      },
    }),
  ];
}

function readingText(day: OutcomeDay): string {
  const figures = OUTCOMES.filter((outcome) => day[outcome] > 0).map(
    (outcome) => `${TITLES[outcome]} ${numberText(day[outcome])}`,
  );
  return `${shortDay(day.day)}: ${figures.length > 0 ? figures.join(', ') : 'no orders'}`;
}

/** The figures in words: each outcome's total, and the day with the most orders. */
function descriptionOf(days: readonly OutcomeDay[]): string {
  const all = days.reduce((sum, day) => sum + totalOf(day), 0);
  const totals = OUTCOMES.map((outcome) => {
    const orders = days.reduce((sum, day) => sum + day[outcome], 0);
    return `${TITLES[outcome].toLowerCase()} ${numberText(orders)}`;
  });
  const most = days.reduce((best, day) => (totalOf(day) > totalOf(best) ? day : best));
  return `${numberText(all)} orders: ${totals.join(', ')}. The most on one day were ${numberText(totalOf(most))}, on ${shortDay(most.day)}.`;
}
