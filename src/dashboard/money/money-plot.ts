import { h } from 'preact';
import type { MoneyDay } from '../../ledger/public.ts';
import { rupeesText } from '../../pages/format.ts';
import { money } from '../view/parts.ts';
import { bar, dayPlot } from '../view/plot.ts';
import { dataTable, pathWith } from '../view/table.ts';
import { link } from '../view/url.ts';
import { dayText } from './days.ts';

/** What a plot has bars of, by the class of its colour. */
export const SERIES = {
  paid: { title: 'Paid', paise: ({ paidPaise }: MoneyDay) => paidPaise },
  completed: { title: 'Released', paise: ({ releasedPaise }: MoneyDay) => releasedPaise },
  refunded: { title: 'Refunded', paise: ({ refundedPaise }: MoneyDay) => refundedPaise },
} as const;

/** See {@link SERIES}. */
export type SeriesName = keyof typeof SERIES;

const entries = Object.entries(SERIES) as [SeriesName, (typeof SERIES)[SeriesName]][];

/** ₹40K: short enough for the axis. */
const shortRupees = new Intl.NumberFormat('en-IN', {
  style: 'currency',
  currency: 'INR',
  notation: 'compact',
});

/** Smaller than others: there are three beside each other. */
const HEIGHT_PX = 150;

/** The plot of one series. All of them have the same scale, so that their bars can be compared. */
export function seriesPlot(name: SeriesName, days: readonly MoneyDay[]) {
  const { title, paise } = SERIES[name];
  const of = new Map(days.map((day) => [day.day, paise(day)]));
  const textOf = (day: string) => `${dayText(day)}: ${rupeesText(of.get(day) ?? 0)}`;
  return dayPlot({
    id: `${name}-plot`,
    title: `${title} by day`,
    description: descriptionOf(name, days),
    days: days.map(({ day }) => day),
    most: Math.max(10_000, ...days.flatMap((day) => entries.map(([, one]) => one.paise(day)))),
    heightPx: HEIGHT_PX,
    tickText: (amountPaise) => shortRupees.format(amountPaise / 100),
    dayText: textOf,
    draw: ({ left, width, y }) =>
      h(
        'g',
        { class: name },
        days
          .filter((day) => paise(day) > 0)
          .map((day) => bar(left(day.day), width, y(0), y(paise(day)))),
      ),
  });
}

/** The figures in words: the sum, and the best day. */
function descriptionOf(name: SeriesName, days: readonly MoneyDay[]): string {
  const { title, paise } = SERIES[name];
  const sum = days.reduce((total, day) => total + paise(day), 0);
  if (sum === 0) return `${title}: nothing.`;
  const most = days.reduce((best, day) => (paise(day) > paise(best) ? day : best));
  return `${title}: ${rupeesText(sum)}, the most on ${dayText(most.day)}: ${rupeesText(paise(most))}.`;
}

/** The exact figures of the days that have any, the latest first. @param statementsPath of the page with the statement of a day */
export function figuresTable(days: readonly MoneyDay[], statementsPath: string) {
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
