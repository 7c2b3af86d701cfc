import { line } from 'd3-shape';
import { h } from 'preact';
import type { MoneyDay } from '../../ledger/public.ts';
import { rupeesText } from '../../pages/format.ts';
import { details, money } from '../view/parts.ts';
import type { Scales } from '../view/plot.ts';
import { dayPlot, plotLegend, rounded } from '../view/plot.ts';
import { dataTable, pathWith } from '../view/table.ts';
import { link } from '../view/url.ts';
import { dayText } from './days.ts';

/** What a plot has a line of, by the class of its colour. */
export const SERIES = {
  paid: { title: 'Paid', paise: ({ paidPaise }: MoneyDay) => paidPaise },
  completed: { title: 'Released', paise: ({ releasedPaise }: MoneyDay) => releasedPaise },
  refunded: { title: 'Refunded', paise: ({ refundedPaise }: MoneyDay) => refundedPaise },
} as const;

const entries = Object.entries(SERIES);

/** ₹40K: short enough for the axis. */
const shortRupees = new Intl.NumberFormat('en-IN', {
  style: 'currency',
  currency: 'INR',
  notation: 'compact',
});

/**
 * The money of some days as lines, with the same figures in words for screen readers and as a table.
 *
 * @param statementsPath of the page with the statement of a day
 */
export function moneyPlot(days: readonly MoneyDay[], statementsPath: string) {
  const titles = Object.fromEntries(entries.map(([name, { title }]) => [name, title]));
  const plot = dayPlot({
    id: 'money-plot',
    title: 'Money by day: paid, released, refunded',
    description: descriptionOf(days),
    days: days.map(({ day }) => day),
    most: Math.max(10_000, ...days.flatMap((day) => entries.map(([, { paise }]) => paise(day)))),
    tickText: (paise) => shortRupees.format(paise / 100),
    draw: (scales) => entries.map(([name, { paise }]) => series(name, days, paise, scales)),
  });
  const table = details('The figures as a table', figuresTable(days, statementsPath));
  return [plotLegend(titles), plot, table];
}

/** A line through the days, and a point on each: one day alone has no line. */
function series(
  name: string,
  days: readonly MoneyDay[],
  paise: (day: MoneyDay) => number,
  { x, y }: Scales,
) {
  const place = (day: MoneyDay): [number, number] => [
    rounded((x(day.day) ?? 0) + x.bandwidth() / 2),
    rounded(y(Math.max(0, paise(day)))),
  ];
  const places = days.map(place);
  return h(
    'g',
    { class: `series ${name}`, key: name },
    h('path', { d: line()(places) ?? '' }),
    places.map(([cx, cy]) => h('circle', { key: cx, cx, cy, r: 2.5 })),
  );
}

/** The figures in words: the sum of each line, and its best day. */
function descriptionOf(days: readonly MoneyDay[]): string {
  return entries
    .map(([, { title, paise }]) => {
      const sum = days.reduce((total, day) => total + paise(day), 0);
      if (sum === 0) return `${title}: nothing.`;
      const most = days.reduce((best, day) => (paise(day) > paise(best) ? day : best));
      return `${title}: ${rupeesText(sum)}, the most on ${dayText(most.day)}: ${rupeesText(paise(most))}.`;
    })
    .join(' ');
}

function figuresTable(days: readonly MoneyDay[], statementsPath: string) {
  return dataTable({
    caption: 'The money by the day of its booking in India, the latest day first',
    empty: 'Nothing moved.',
    rows: days.filter((day) => entries.some(([, { paise }]) => paise(day) !== 0)).toReversed(),
    columns: [
      {
        title: 'Day',
        cell: ({ day }: MoneyDay) => link(pathWith(statementsPath, { day }), dayText(day)),
      },
      ...entries.map(([, { title, paise }]) => ({
        title,
        isNumber: true,
        cell: (day: MoneyDay) => money(paise(day)),
      })),
    ],
  });
}
