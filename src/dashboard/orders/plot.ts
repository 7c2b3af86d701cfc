import { h } from 'preact';
import type { OrderStatus } from '../../domain/index.ts';
import type { DayOfOrders } from '../../orders/public.ts';
import { numberText } from '../../pages/format.ts';
import { emptyState, more } from '../view/parts.ts';
import { plotLegend, shortDay, stackedBars, timePlot } from '../view/plot.ts';
import { dataTable } from '../view/table.ts';

/** What became of the orders of a day, by what their statuses mean for the money. */
const OUTCOMES = ['completed', 'paid', 'disputed', 'refunded', 'cancelled', 'unpaid'] as const;
type Outcome = (typeof OUTCOMES)[number];

const TITLES = {
  completed: 'Completed',
  paid: 'Paid, not completed',
  disputed: 'Disputed',
  refunded: 'Refunded',
  cancelled: 'Cancelled',
  unpaid: 'Waiting for payment',
} as const satisfies Record<Outcome, string>;

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

/**
 * The orders of some days as stacked bars, with the same figures in words for screen readers and as a table.
 */
export function ordersPlot(daysOfOrders: readonly DayOfOrders[]) {
  const days = daysOfOrders.map(outcomesOf);
  if (days.every((day) => totalOf(day) === 0)) {
    return [emptyState('There were no orders.')];
  }
  const plot = timePlot({
    id: 'orders-plot',
    title: 'Orders by the day of their creation and by outcome',
    description: descriptionOf(days),
    spans: days.map(({ day }) => day),
    most: Math.max(4, ...days.map(totalOf)),
    tickText: (orders) => shortCount.format(orders),
    readingText: (day) => textOf(days.find((one) => one.day === day)),
    draw: (scales) => stackedBars(OUTCOMES, days, ({ day }) => day, scales),
  });
  return [
    h('h3', null, 'Orders by the day of their creation'),
    plotLegend(TITLES),
    plot,
    more('The figures as a table', figuresTable(days)),
  ];
}

/** The figures of a day. */
function textOf(day: OutcomeDay | undefined): string {
  if (day === undefined) return '';
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

function figuresTable(days: readonly OutcomeDay[]) {
  return dataTable({
    caption: 'Orders by the day of their creation and by outcome, the latest day first',
    empty: 'There were no orders.',
    rows: days.filter((day) => totalOf(day) > 0).toReversed(),
    columns: [
      { title: 'Day', cell: ({ day }: OutcomeDay) => shortDay(day) },
      ...OUTCOMES.map((outcome) => ({
        title: TITLES[outcome],
        isNumber: true,
        cell: (day: OutcomeDay) => numberText(day[outcome]),
      })),
    ],
  });
}
