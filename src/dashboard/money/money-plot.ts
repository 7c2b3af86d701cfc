import type { MoneyDay } from '../../ledger/public.ts';
import { rupeesText } from '../../pages/format.ts';
import { money } from '../view/parts.ts';
import { timePlot } from '../view/plot.ts';
import type { Columns } from '../view/table.ts';
import { dataTable } from '../view/table.ts';
import { link, pathWith } from '../view/url.ts';
import { dayText, todayInIndia } from './period.ts';

/** The series of the plots, by the class of their colour. */
export const SERIES = {
  paid: { title: 'Paid', paise: ({ paidPaise }: MoneyDay) => paidPaise },
  completed: { title: 'Released', paise: ({ releasedPaise }: MoneyDay) => releasedPaise },
  refunded: { title: 'Refunded', paise: ({ refundedPaise }: MoneyDay) => refundedPaise },
} as const;

export type SeriesName = keyof typeof SERIES;

const entries = Object.entries(SERIES) as [SeriesName, (typeof SERIES)[SeriesName]][];

/** ₹40K: short enough for the axis. */
const shortRupees = new Intl.NumberFormat('en-IN', {
  style: 'currency',
  currency: 'INR',
  notation: 'compact',
});

/** Smaller than others: there are three beside each other. */
const HEIGHT_PX = 180;

/**
 * The plot of one series: a bar for each day, paler today, beside that of the same day of the period before. All plots
 * have the same scale, so that their bars can be compared.
 *
 * @param before as many days as `days`; empty if nothing moved in them
 */
export function seriesPlot(
  name: SeriesName,
  days: readonly MoneyDay[],
  before: readonly MoneyDay[],
) {
  const { title, paise } = SERIES[name];
  const today = todayInIndia();
  const pairs = days.map((now, index) => ({ now, earlier: before[index] }));
  const readings = new Map(pairs.map((pair) => [pair.now.day, readingOf(pair, paise)]));
  const barsOf = (span: string, day: MoneyDay | undefined, half?: 'first' | 'second') =>
    day && paise(day) > 0 ? [{ span, to: paise(day), half }] : [];
  return timePlot({
    id: `${name}-plot`,
    title: `${title} by day`,
    description: descriptionOf(name, days),
    spans: days.map(({ day }) => day),
    least: mostOf([...days, ...before]),
    heightPx: HEIGHT_PX,
    tickText: (amountPaise) => shortRupees.format(amountPaise / 100),
    readingText: (day) => readings.get(day) ?? '',
    layers: [
      ...days.map((now) => ({
        name: now.day === today ? `${name} running` : name,
        bars: barsOf(now.day, now, before.length > 0 ? 'second' : undefined),
      })),
      {
        name: 'earlier',
        bars: pairs.flatMap(({ now, earlier }) => barsOf(now.day, earlier, 'first')),
      },
    ],
  });
}

const mostOf = (days: readonly MoneyDay[]) =>
  Math.max(10_000, ...days.flatMap((day) => entries.map(([, { paise }]) => paise(day))));

interface DayAndEarlier {
  now: MoneyDay;
  earlier: MoneyDay | undefined;
}

/** "27 Nov 2026: ₹400.00; 28 Oct 2026: ₹300.00" */
function readingOf({ now, earlier }: DayAndEarlier, paise: (day: MoneyDay) => number): string {
  const textOf = (day: MoneyDay) => `${dayText(day.day)}: ${rupeesText(paise(day))}`;
  return earlier ? `${textOf(now)}; ${textOf(earlier)}` : textOf(now);
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
  const sums = entries.map(([, { title, paise }]) => [
    title,
    { isNumber: true, cell: (day: MoneyDay) => money(paise(day)) },
  ]);
  return dataTable({
    caption: 'The money by the day of its booking in India, the latest day first',
    empty: 'Nothing moved.',
    rows: days.filter((day) => entries.some(([, { paise }]) => paise(day) !== 0)).toReversed(),
    columns: {
      Day: ({ day }) => link(pathWith(statementsPath, { day }), dayText(day)),
      ...(Object.fromEntries(sums) as Columns<MoneyDay>),
    },
  });
}
