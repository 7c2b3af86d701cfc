import type { ScaleLinear } from 'd3-scale';
import { scaleBand, scaleLinear } from 'd3-scale';
import { stack } from 'd3-shape';
import type { ComponentChildren } from 'preact';
import { h } from 'preact';

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

/** A number of an SVG: a hundredth is exact enough. */
const rounded = (number: number) => Math.round(number * 100) / 100;

/** A part of the width of a plot: it is as wide as its place, and its texts and lines keep their size. */
const percent = (number: number) => `${rounded(number)}%`;

/** Where a plot has a span, in percent of its width, and its values, in pixels. */
export interface Scales {
  /** Where the span's place begins. */
  left: (span: string) => number;
  /** Of a span's place. */
  width: number;
  y: ScaleLinear<number, number>;
}

/** A plot of values by day or hour: see {@link timePlot}. */
interface TimePlot {
  /** Unique on the page. */
  id: string;
  title: string;
  /** The same in words, for screen readers. */
  description: string;
  /** The days, or hours, the first one first. */
  spans: readonly string[];
  /** The name of a span at the axis. */
  spanText?: (span: string) => string;
  /** The largest value. */
  most: number;
  heightPx?: number;
  /** A value at the axis: short. */
  tickText: (value: number) => string;
  /** The values of a span: shown where the pointer is, and with the arrow keys. */
  readingText: (span: string) => string;
  draw: (scales: Scales) => ComponentChildren;
}

/**
 * A plot of values by day or hour, with its axis beside it. The colours are classes of the stylesheet. The page's
 * script makes the spans readable with the arrow keys; the figures are always on the page as a table, too.
 */
export function timePlot(plot: TimePlot) {
  const { id, title, description, spans, most, tickText, readingText, draw } = plot;
  const { heightPx: height = USUAL_HEIGHT_PX, spanText = shortDay } = plot;
  // A few days have no bars as wide as pages.
  const hasWideBars = spans.length < 10 && height === USUAL_HEIGHT_PX;
  const x = scaleBand()
    .domain(spans)
    .range([0, 100])
    .padding(hasWideBars ? 0.6 : 0.25);
  const y = scaleLinear()
    .domain([0, most])
    .nice(TICK_COUNT)
    .range([height - BOTTOM, TOP]);
  const ticks = everySecond(y.ticks(TICK_COUNT));
  const left = (span: string) => x(span) ?? 0;
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
      draw({ left, width: x.bandwidth(), y }),
      spans.map((span) =>
        readingColumn({ left: left(span), width: x.bandwidth(), height }, readingText(span)),
      ),
      labelledSpans(spans, height === USUAL_HEIGHT_PX).map((span, index, { length }) =>
        h(
          'text',
          {
            key: span,
            ...labelPlace(spans, span, { left: left(span), width: x.bandwidth() }),
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

/** A bar from one value to another. @param left, width in percent; @param bottom, top in pixels */
export function bar(left: number, width: number, bottom: number, top: number) {
  return h('rect', {
    key: left,
    x: percent(left),
    width: percent(width),
    y: rounded(top),
    height: rounded(bottom - top),
  });
}

/**
 * Bars of several parts above each other, each part in the colour of the class of its key.
 *
 * @param keys of the parts, the lowest one first
 * @param spanOf the span that a row is of
 */
export function stackedBars<Key extends string, Row extends Readonly<Record<Key, number>>>(
  keys: readonly Key[],
  rows: readonly Row[],
  spanOf: (row: Row) => string,
  { left, width, y }: Scales,
) {
  const layers = stack<unknown, Row, Key>()
    .keys(keys)
    .value((row, key) => row[key])([...rows]);
  return layers.map((layer) =>
    h(
      'g',
      { class: layer.key, key: layer.key },
      layer
        .filter(([from, to]) => to > from)
        .map((part) => bar(left(spanOf(part.data)), width, y(part[0]), y(part[1]))),
    ),
  );
}

/** The values of an axis: every second one if there are many and the last one stays. */
const everySecond = (ticks: readonly number[]) =>
  ticks.length > TICK_COUNT + 1 && ticks.length % 2 === 1
    ? ticks.filter((_, index) => index % 2 === 0)
    : [...ticks];

/** The whole height of a span, over its values, which shows them. */
function readingColumn(
  { left, width, height }: { left: number; width: number; height: number },
  text: string,
) {
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
function labelPlace(
  spans: readonly string[],
  span: string,
  { left, width }: { left: number; width: number },
) {
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
