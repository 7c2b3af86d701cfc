import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { PAID_STATUSES } from '../../domain/index.ts';
import type { MoneyDay } from '../../ledger/public.ts';
import type { DayOfOrders, DueRelease } from '../../orders/public.ts';
import { countText, numberText, rupeesText } from '../../pages/format.ts';
import type { FormState } from '../view/typed.ts';
import { filterForm, textField } from '../view/fields.ts';
import {
  below,
  capitalised,
  emptyState,
  figures,
  hint,
  money,
  more,
  section,
} from '../view/parts.ts';
import { plotLegend } from '../view/plot.ts';
import { dataTable } from '../view/table.ts';
import { link, pathWith } from '../view/url.ts';
import type { SeriesName } from './money-plot.ts';
import { figuresTable, SERIES, seriesPlot } from './money-plot.ts';
import type { Period } from './period.ts';
import { daysOf, dayText, latestDays, PRESET_DAYS, todayInIndia } from './period.ts';

export interface ShownMoney {
  period: Period;
  /** Every day with a movement. */
  moneyDays: readonly MoneyDay[];
  statementsPath: string;
}

/** Paid, released and refunded in some days, beside as many days before. */
export function moneySection({ period, statementsPath, moneyDays }: ShownMoney) {
  const byDay = new Map(moneyDays.map((one) => [one.day, one]));
  const days = daysOf(period).map((day) => byDay.get(day) ?? noMoney(day));
  const daysBefore = daysOf({ ...period, from: period.beforeFrom });
  const before = daysBefore.map((day) => byDay.get(day) ?? noMoney(day));
  const hasBefore = daysBefore.some((day) => byDay.has(day));
  const isEmpty = days.every((day) => SERIES_NAMES.every((name) => SERIES[name].paise(day) === 0));
  return section(
    'money',
    'Money',
    !isEmpty && plotLegend(legendOf(period, { hasBefore, lastDay: days.at(-1) })),
    h(
      'div',
      { class: 'plots' },
      SERIES_NAMES.map((name) => {
        const { title, paise } = SERIES[name];
        const sumOf = (some: readonly MoneyDay[]) => some.reduce((sum, day) => sum + paise(day), 0);
        return h(
          'div',
          { key: name },
          figure(title, money(sumOf(days)), beforeText(sumOf(days), sumOf(before), period)),
          !isEmpty && seriesPlot(name, days, hasBefore ? before : []),
        );
      }),
    ),
    isEmpty
      ? emptyState('No money moved in these days.')
      : more('The figures as a table', figuresTable(days, statementsPath)),
  );
}

/** The days of the figures below the bar, and links to other days. */
export function periodBar(period: Period, state: FormState, path: string) {
  return h(
    'div',
    { class: 'toolbar' },
    presets(path, period),
    hint(`${dayText(period.from)} – ${dayText(period.to)}`),
    otherDates(path, period, state),
  );
}

/** The share of the orders of some days that were paid, beside as many days before. */
export function paymentSuccess(
  days: readonly DayOfOrders[],
  before: readonly DayOfOrders[],
  period: Period,
) {
  const beforeRate = rateText(before);
  const comparison = beforeRate === null ? null : `${beforeRate} in ${periodBefore(period)}`;
  return [figure('Payment success', rateText(days) ?? '–', comparison), hint(rateHint(days))];
}

const SERIES_NAMES = Object.keys(SERIES) as SeriesName[];

/** The form with the dates; open if they are no preset, or wrong. */
function otherDates(path: string, period: Period, state: FormState) {
  const isWrong = Object.values(state.violations ?? {}).some(Boolean);
  const isPreset = PRESET_DAYS.some((days) => isLatest(days, period));
  return h(
    'details',
    { class: 'more', open: isWrong || !isPreset },
    h('summary', null, 'Other dates'),
    filterForm(
      path,
      state,
      textField({ name: 'from', label: 'From', type: 'date' }),
      textField({ name: 'to', label: 'To', type: 'date' }),
    ),
  );
}

/** What is not in the colour of its figure. */
function legendOf(
  period: Period,
  { hasBefore, lastDay }: { hasBefore: boolean; lastDay: MoneyDay | undefined },
): Record<string, string> {
  const isRunning =
    lastDay?.day === todayInIndia() && SERIES_NAMES.some((name) => SERIES[name].paise(lastDay) > 0);
  return {
    ...(hasBefore && { earlier: capitalised(periodBefore(period)) }),
    ...(isRunning && { running: 'Today so far' }),
  };
}

const noMoney = (day: string): MoneyDay => ({
  day,
  paidPaise: 0,
  releasedPaise: 0,
  refundedPaise: 0,
  heldChangePaise: 0,
});

function isLatest(days: number, period: Period): boolean {
  const { from, to } = latestDays(days);
  return from === period.from && to === period.to;
}

function presets(path: string, period: Period) {
  return h(
    'nav',
    { class: 'chips', 'aria-label': 'Period' },
    PRESET_DAYS.map((days) => {
      const { from, to } = latestDays(days);
      const current = isLatest(days, period) ? { 'aria-current': 'page' as const } : {};
      return link(pathWith(path, { from, to }), `${days} days`, current);
    }),
  );
}

const figure = (name: string, value: ComponentChildren, before: string | null) =>
  figures({ [name]: [value, below(before)] });

const periodBefore = ({ dayCount }: Period) =>
  dayCount === 1 ? 'the day before' : `the ${dayCount} days before`;

/** "▲ 12%: ₹400.00 in the 30 days before"; null if there was nothing. */
function beforeText(nowPaise: number, beforePaise: number, period: Period): string | null {
  if (beforePaise === 0) return null;
  const change = (nowPaise - beforePaise) / beforePaise;
  const sign = change < 0 ? '▼' : '▲';
  // A negative sum, where more refunds failed than were made, has no share.
  const isShare = beforePaise > 0 && change !== 0;
  const changed = isShare ? `${sign} ${percent.format(Math.abs(change))}: ` : '';
  return `${changed}${rupeesText(beforePaise)} in ${periodBefore(period)}`;
}

/** Orders that were paid, and those that no longer wait for their payment. */
function paymentsOf(days: readonly DayOfOrders[]) {
  const count = (statuses: readonly (keyof DayOfOrders['byStatus'])[]) =>
    days.reduce(
      (sum, { byStatus }) => sum + statuses.reduce((some, status) => some + byStatus[status], 0),
      0,
    );
  return { paid: count(PAID_STATUSES), ended: count([...PAID_STATUSES, 'CANCELLED']) };
}

const percent = new Intl.NumberFormat('en-IN', { style: 'percent', maximumFractionDigits: 1 });
function rateText(days: readonly DayOfOrders[]): string | null {
  const { paid, ended } = paymentsOf(days);
  return ended === 0 ? null : percent.format(paid / ended);
}

function rateHint(days: readonly DayOfOrders[]): string {
  const { paid, ended } = paymentsOf(days);
  if (ended === 0) return '';
  return `${numberText(paid)} of ${numberText(ended)} orders were paid; the others were cancelled, or their link ended.`;
}

/** What is held now, and when it will be released. */
export function heldSection(moneyDays: readonly MoneyDay[], due: readonly DueRelease[]) {
  const heldPaise = moneyDays.reduce((sum, day) => sum + day.heldChangePaise, 0);
  const known = due.filter(({ isDelivered }) => isDelivered);
  const duePaise = known.reduce((sum, { amountPaise }) => sum + amountPaise, 0);
  const rows = known.map(({ day, orderCount, amountPaise }) => ({
    when: day === null ? 'After the dispute' : dayText(day),
    orders: countText(orderCount, 'order'),
    amountPaise,
  }));
  const toDeliver = due.find(({ isDelivered }) => !isDelivered)?.orderCount ?? 0;
  const rest = {
    when: 'After delivery',
    orders: toDeliver > 0 ? countText(toDeliver, 'order') : '',
    amountPaise: heldPaise - duePaise,
  };
  return section(
    'held',
    'Held now',
    h('p', { class: 'sum' }, money(heldPaise)),
    dataTable({
      caption: 'When the held money will be released, unless a dispute is raised',
      isCompact: true,
      empty: 'Nothing is held.',
      rows: rest.amountPaise > 0 ? [...rows, rest] : rows,
      columns: {
        Released: ({ when }: typeof rest) => when,
        Orders: ({ orders }: typeof rest) => orders,
        Amount: { isNumber: true, cell: ({ amountPaise }: typeof rest) => money(amountPaise) },
      },
    }),
  );
}
