import { h } from 'preact';
import type { MoneyDay } from '../../ledger/public.ts';
import { rupeesText } from '../../pages/format.ts';
import { details, money } from '../view/parts.ts';
import type { Scales } from '../view/plot.ts';
import { bar, dayPlot, plotLegend } from '../view/plot.ts';
import { dataTable, pathWith } from '../view/table.ts';
import { link } from '../view/url.ts';
import { dayText } from './days.ts';

/** What a plot has bars of, by the class of its colour. */
export const SERIES = {
  paid: { title: 'Paid', paise: ({ paidPaise }: MoneyDay) => paidPaise },
  completed: { title: 'Released', paise: ({ releasedPaise }: MoneyDay) => releasedPaise },
  refunded: { title: 'Refunded', paise: ({ refundedPaise }: MoneyDay) => refundedPaise },
} as const;

type SeriesName = keyof typeof SERIES;

const entries = Object.entries(SERIES) as [SeriesName, (typeof SERIES)[SeriesName]][];

/** ₹40K: short enough for the axis. */
const shortRupees = new Intl.NumberFormat('en-IN', {
  style: 'currency',
  currency: 'INR',
  notation: 'compact',
});

/**
 * The money of some days as bars, or a sentence if there was none, with the same figures in words for screen readers and as a table.
 *
 * @param statementsPath of the page with the statement of a day
 */
export function moneyPlot(days: readonly MoneyDay[], statementsPath: string) {
  const isEmpty = days.every((day) => entries.every(([, { paise }]) => paise(day) === 0));
  if (isEmpty) return [h('p', { class: 'empty' }, 'No money moved in these days.')];
  const titles = Object.fromEntries(entries.map(([name, { title }]) => [name, title]));
  const plot = dayPlot({
    id: 'money-plot',
    title: 'Money by day: paid, released, refunded',
    description: descriptionOf(days),
    days: days.map(({ day }) => day),
    most: Math.max(10_000, ...days.flatMap((day) => entries.map(([, { paise }]) => paise(day)))),
    tickText: (paise) => shortRupees.format(paise / 100),
    dayText: (day) => textOf(days.find((one) => one.day === day)),
    draw: (scales) => entries.map(([name, { paise }]) => bars(name, days, paise, scales)),
  });
  const table = details('The figures as a table', figuresTable(days, statementsPath));
  return [plotLegend('money-plot', titles), plot, table];
}

/** The figures of a day. */
function textOf(day: MoneyDay | undefined): string {
  if (day === undefined) return '';
  const figures = entries.map(([, { title, paise }]) => `${title} ${rupeesText(paise(day))}`);
  return `${dayText(day.day)}: ${figures.join(', ')}`;
}

/** The bars of one series: each day has a bar of every series, side by side. */
function bars(
  name: SeriesName,
  days: readonly MoneyDay[],
  paise: (day: MoneyDay) => number,
  { left, width, y }: Scales,
) {
  const barWidth = width / entries.length;
  const place = entries.findIndex(([one]) => one === name) * barWidth;
  return h(
    'g',
    { class: name, key: name },
    days
      .filter((day) => paise(day) > 0)
      .map((day) => bar(left(day.day) + place, barWidth, y(0), y(paise(day)))),
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
