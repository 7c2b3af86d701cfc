import { scaleBand, scaleLinear } from 'd3-scale';
import { stack } from 'd3-shape';
import { h } from 'preact';
import type { OrderStatus } from '../../domain/index.ts';
import type { DayOfOrders } from '../../orders/public.ts';
import { details } from '../view/parts.ts';
import { dataTable } from '../view/table.ts';

/** What became of the orders of a day, by what their statuses mean for the money. */
const OUTCOMES = ['completed', 'paid', 'refunded', 'cancelled', 'unpaid'] as const;
type Outcome = (typeof OUTCOMES)[number];

const TITLES = {
  completed: 'Completed',
  paid: 'Paid, not completed',
  refunded: 'Refunded',
  cancelled: 'Cancelled',
  unpaid: 'Waiting for payment',
} as const satisfies Record<Outcome, string>;

const OUTCOME_OF = {
  ACCEPTED: 'unpaid',
  PAID: 'paid',
  DELIVERED: 'paid',
  DISPUTE_OPEN: 'paid',
  DISPUTE_UNDER_REVIEW: 'paid',
  COMPLETED: 'completed',
  REFUNDED: 'refunded',
  CANCELLED: 'cancelled',
} as const satisfies Record<OrderStatus, Outcome>;

type OutcomeDay = Record<Outcome, number> & { day: string };

function outcomesOf({ day, byStatus }: DayOfOrders): OutcomeDay {
  const counts = { day, completed: 0, paid: 0, refunded: 0, cancelled: 0, unpaid: 0 };
  for (const [status, orders] of Object.entries(byStatus)) {
    counts[OUTCOME_OF[status as OrderStatus]] += orders;
  }
  return counts;
}

const totalOf = (day: OutcomeDay) => OUTCOMES.reduce((sum, outcome) => sum + day[outcome], 0);

const count = new Intl.NumberFormat('en-IN');
/** 40K: short enough for the axis. */
const shortCount = new Intl.NumberFormat('en', { notation: 'compact' });
const dayFormat = new Intl.DateTimeFormat('en-IN', { day: 'numeric', month: 'short' });
const dayText = (day: string) => dayFormat.format(new Date(`${day}T12:00:00`));

const WIDTH = 720;
const HEIGHT = 260;
/** At the left and below there is place for the larger labels of narrow screens. */
const MARGIN = { top: 16, right: 36, bottom: 40, left: 72 };
/** One of this many bars has its day below it, counted from the latest. */
const DAYS_PER_LABEL = 7;

/**
 * The orders of the latest days as stacked bars, with the same figures in words for screen readers and
 * as a table. The colours are classes of the stylesheet.
 */
export function ordersPlot(daysOfOrders: readonly DayOfOrders[]) {
  const days = daysOfOrders.map(outcomesOf);
  return [legend(), svg(days), details('The figures as a table', figuresTable(days))];
}

function svg(days: readonly OutcomeDay[]) {
  const x = scaleBand()
    .domain(days.map(({ day }) => day))
    .range([MARGIN.left, WIDTH - MARGIN.right])
    .padding(0.2);
  const y = scaleLinear()
    .domain([0, Math.max(4, ...days.map(totalOf))])
    .nice(4)
    .range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  const layers = stack<unknown, OutcomeDay, Outcome>()
    .keys(OUTCOMES)
    .value((day, outcome) => day[outcome])([...days]);
  return h(
    'svg',
    {
      class: 'plot',
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: 'img',
      'aria-labelledby': 'plot-title plot-description',
    },
    h('title', { id: 'plot-title' }, `Orders of the last ${days.length} days by outcome`),
    h('desc', { id: 'plot-description' }, descriptionOf(days)),
    ...y.ticks(4).map((tick) => gridLine(y(tick), tick)),
    ...layers.map((layer) =>
      h(
        'g',
        { class: layer.key },
        layer
          .filter(([from, to]) => to > from)
          .map((part) => bar(x(part.data.day) ?? 0, x.bandwidth(), y(part[0]), y(part[1]))),
      ),
    ),
    ...days
      .filter((_, index) => (days.length - 1 - index) % DAYS_PER_LABEL === 0)
      .map(({ day }) => dayLabel((x(day) ?? 0) + x.bandwidth() / 2, day)),
  );
}

const rounded = (number: number) => Math.round(number * 10) / 10;

function bar(left: number, width: number, bottom: number, top: number) {
  return h('rect', {
    x: rounded(left),
    width: rounded(width),
    y: rounded(top),
    height: rounded(bottom - top),
  });
}

function gridLine(top: number, orders: number) {
  const at = rounded(top);
  return h(
    'g',
    { class: 'grid', key: orders },
    h('line', { x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: at, y2: at }),
    h('text', { x: MARGIN.left - 8, y: at + 4, 'text-anchor': 'end' }, shortCount.format(orders)),
  );
}

function dayLabel(middle: number, day: string) {
  const place = { x: rounded(middle), y: HEIGHT - 8, 'text-anchor': 'middle' };
  return h('text', { key: day, ...place }, dayText(day));
}

/** The figures in words: each outcome's total, and the day with the most orders. */
function descriptionOf(days: readonly OutcomeDay[]): string {
  const all = days.reduce((sum, day) => sum + totalOf(day), 0);
  if (all === 0) return 'There were no orders.';
  const totals = OUTCOMES.map((outcome) => {
    const orders = days.reduce((sum, day) => sum + day[outcome], 0);
    return `${TITLES[outcome].toLowerCase()} ${count.format(orders)}`;
  });
  const most = days.reduce((best, day) => (totalOf(day) > totalOf(best) ? day : best));
  return `${count.format(all)} orders: ${totals.join(', ')}. The most on one day were ${count.format(totalOf(most))}, on ${dayText(most.day)}.`;
}

function legend() {
  return h(
    'ul',
    { class: 'legend' },
    OUTCOMES.map((outcome) =>
      h('li', { key: outcome, class: outcome }, h('span', null, TITLES[outcome])),
    ),
  );
}

function figuresTable(days: readonly OutcomeDay[]) {
  return dataTable({
    caption: 'Orders by the day of their creation and by outcome, the latest day first',
    empty: 'There were no orders.',
    rows: days.filter((day) => totalOf(day) > 0).toReversed(),
    columns: [
      { title: 'Day', cell: ({ day }: OutcomeDay) => dayText(day) },
      ...OUTCOMES.map((outcome) => ({
        title: TITLES[outcome],
        isNumber: true,
        cell: (day: OutcomeDay) => count.format(day[outcome]),
      })),
    ],
  });
}
