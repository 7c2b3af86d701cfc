import { scaleBand, scaleLinear } from 'd3-scale';
import { stack } from 'd3-shape';
import { h } from 'preact';
import { numberText } from '../../pages/format.ts';
import { more } from './parts.ts';
import type { Columns } from './table.ts';
import { dataTable } from './table.ts';

const USUAL_HEIGHT_PX = 240;
/** More lines than this are noise, also in a high plot. */
const TICK_COUNT = 4;
/** More names of days are too many below a plot on a phone. */
const MOST_ON_PHONES = 5;
const TOP = 12;
const BOTTOM = 30;

const dayFormat = new Intl.DateTimeFormat('en-IN', { day: 'numeric', month: 'short' });

/** "27 Nov" */
export const shortDay = (day: string) => dayFormat.format(new Date(`${day}T12:00:00`));

/** Two decimals are exact enough in an SVG. */
const rounded = (number: number) => Math.round(number * 100) / 100;

/** A part of the width of a plot: it is as wide as its place, and its texts and lines keep their size. */
const percent = (number: number) => `${rounded(number)}%`;

/** A bar over a span, from one value to another. */
interface Bar {
  span: string;
  /** 0 if it is not given. */
  from?: number;
  to: number;
  /** Only in one half of the span's place. */
  half?: 'first' | 'second' | undefined;
}

/** A plot of values by day or hour: see {@link timePlot}. */
interface TimePlot {
  /** Unique on the page. */
  id: string;
  title: string;
  /** The plot in words, for screen readers. */
  description: string;
  /** The days, or hours, the first one first. */
  spans: readonly string[];
  /** The name of a span at the axis. */
  spanText?: ((span: string) => string) | undefined;
  /** The axis ends there, or at the highest bar. */
  least: number;
  heightPx?: number | undefined;
  /** A value at the axis: short. */
  tickText: (value: number) => string;
  /** The values of a span: shown where the pointer is, and with the arrow keys. */
  readingText: (span: string) => string;
  /** Bars of one colour each, which is that of the class `name`. */
  layers: readonly { name: string; bars: readonly Bar[] }[];
}

/**
 * A plot of values by day or hour, with its axis beside it. The colours are classes of the stylesheet. The page's
 * script makes the spans readable with the arrow keys; the figures are always on the page as a table, too.
 */
export function timePlot(plot: TimePlot) {
  const { id, title, description, spans, least, tickText, readingText, layers } = plot;
  const { heightPx: height = USUAL_HEIGHT_PX, spanText = shortDay } = plot;
  // A few days have no bars as wide as pages.
  const hasWideBars = spans.length < 10 && height === USUAL_HEIGHT_PX;
  const x = scaleBand()
    .domain(spans)
    .range([0, 100])
    .padding(hasWideBars ? 0.6 : 0.25);
  const tops = layers.flatMap(({ bars }) => bars.map(({ to }) => to));
  const y = scaleLinear()
    .domain([0, Math.max(least, ...tops)])
    .nice(TICK_COUNT)
    .range([height - BOTTOM, TOP]);
  const ticks = everySecond(y.ticks(TICK_COUNT));
  const left = (span: string) => x(span) ?? 0;
  const width = x.bandwidth();
  return h(
    'figure',
    { class: 'plot', 'data-plot': id },
    h(
      'svg',
      { 'aria-hidden': 'true', height },
      ticks.map((tick) =>
        h(
          'text',
          { key: tick, x: 40, y: rounded(y(tick)) + 4, 'text-anchor': 'end' },
          tickText(tick),
        ),
      ),
    ),
    h(
      'svg',
      { role: 'img', height, 'aria-labelledby': `${id}-title ${id}-description` },
      h('title', { id: `${id}-title` }, title),
      h('desc', { id: `${id}-description` }, description),
      h(
        'g',
        { class: 'grid' },
        ticks.map((tick) =>
          h('line', { key: tick, x2: '100%', y1: rounded(y(tick)), y2: rounded(y(tick)) }),
        ),
      ),
      layers.map((layer) => layerPart(layer, (value) => y(value), { left, width })),
      spans.map((span) => readingColumn(left(span), width, height, readingText(span))),
      labelledSpans(spans, height === USUAL_HEIGHT_PX).map((span, index, { length }) =>
        h(
          'text',
          {
            key: span,
            ...labelPlace(spans, span, left(span), width),
            y: height - 8,
            class: length > MOST_ON_PHONES && index % 2 === 1 ? 'between' : undefined,
          },
          spanText(span),
        ),
      ),
    ),
    h('output', { class: 'reading', id: `${id}-reading` }),
  );
}

/** Counts by day or hour: see {@link stackedPlot}. */
interface StackedPlot<Key extends string, Row> extends Omit<
  TimePlot,
  'spans' | 'least' | 'readingText' | 'layers'
> {
  /** The parts of a bar by the classes of their colours, the lowest one first. */
  titles: Readonly<Record<Key, string>>;
  rows: readonly Row[];
  spanOf: (row: Row) => string;
  readingText: (row: Row) => string;
  /** The table of the figures; `first` is its column of days or hours. */
  table: { caption: string; empty: string; first: Columns<Row> };
}

/**
 * Counts by day or hour as bars of several parts above each other, what their colours mean, and the exact figures of
 * those that have any as a table, the latest first.
 */
export function stackedPlot<Key extends string, Row extends Readonly<Record<Key, number>>>(
  plot: StackedPlot<Key, Row>,
) {
  const { titles, rows, spanOf, readingText, table } = plot;
  const keys = Object.keys(titles) as Key[];
  const layers = stack<unknown, Row, Key>()
    .keys(keys)
    .value((row, key) => row[key])([...rows])
    .map((layer) => ({
      name: layer.key,
      bars: layer
        .filter(([from, to]) => to > from)
        .map((part) => ({ span: spanOf(part.data), from: part[0], to: part[1] })),
    }));
  const readings = new Map(rows.map((row) => [spanOf(row), readingText(row)]));
  const counts = keys.map((key) => [
    titles[key],
    { isNumber: true, cell: (row: Row) => numberText(row[key]) },
  ]);
  return [
    plotLegend(titles),
    timePlot({
      ...plot,
      spans: rows.map(spanOf),
      least: 4,
      readingText: (span) => readings.get(span) ?? '',
      layers,
    }),
    more(
      'The figures as a table',
      dataTable({
        ...table,
        rows: rows.filter((row) => keys.some((key) => row[key] > 0)).toReversed(),
        columns: { ...table.first, ...(Object.fromEntries(counts) as Columns<Row>) },
      }),
    ),
  ];
}

/** Bars of one colour. @param y where a value is, in pixels */
function layerPart(
  { name, bars }: TimePlot['layers'][number],
  y: (value: number) => number,
  { left, width }: { left: (span: string) => number; width: number },
) {
  return h(
    'g',
    { class: name },
    bars.map(({ span, from = 0, to, half }) =>
      h('rect', {
        key: span,
        x: percent(left(span) + (half === 'second' ? width / 2 : 0)),
        width: percent(half ? width / 2 : width),
        y: rounded(y(to)),
        height: rounded(y(from) - y(to)),
      }),
    ),
  );
}

/** The values of an axis: every second one if there are many and the last one stays. */
const everySecond = (ticks: readonly number[]) =>
  ticks.length > TICK_COUNT + 1 && ticks.length % 2 === 1
    ? ticks.filter((_, index) => index % 2 === 0)
    : [...ticks];

/** The whole height of a span, over its values, which shows them. */
function readingColumn(left: number, width: number, height: number, text: string) {
  return h(
    'g',
    { class: 'span', key: left },
    h('title', null, text),
    h('rect', { x: percent(left), width: percent(width), y: TOP, height: height - TOP - BOTTOM }),
  );
}

/** The first span, the last one and some between them have their names below them. */
function labelledSpans(spans: readonly string[], isWide: boolean): string[] {
  const last = spans.length - 1;
  if (isWide && last < 7) return [...spans];
  const steps = Math.min(last, isWide ? 4 : last < 7 ? 3 : 2) || 1;
  const places = Array.from({ length: steps + 1 }, (_, index) =>
    Math.round((index * last) / steps),
  );
  return places.flatMap((place) => spans[place] ?? []);
}

/** A name is in the middle of its bar; those of the first and last narrow bar end where the plot does. */
function labelPlace(spans: readonly string[], span: string, left: number, width: number) {
  const isNarrow = spans.length > 10;
  if (isNarrow && span === spans[0]) return { x: percent(left), 'text-anchor': 'start' };
  if (isNarrow && span === spans.at(-1)) return { x: percent(left + width), 'text-anchor': 'end' };
  return { x: percent(left + width / 2), 'text-anchor': 'middle' };
}

/** What the colours of a plot mean. @param titles by the class of each colour */
export function plotLegend(titles: Readonly<Record<string, string>>) {
  if (Object.keys(titles).length === 0) return null;
  return h(
    'ul',
    { class: 'legend' },
    Object.entries(titles).map(([name, title]) => h('li', { key: name, class: name }, title)),
  );
}
