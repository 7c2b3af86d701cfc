import type { ScaleLinear } from 'd3-scale';
import { scaleBand, scaleLinear } from 'd3-scale';
import type { ComponentChildren } from 'preact';
import { h } from 'preact';

const USUAL_HEIGHT_PX = 240;
const PX_OF_TICK = 60;
const TOP = 12;
const BOTTOM = 30;

const dayFormat = new Intl.DateTimeFormat('en-IN', { day: 'numeric', month: 'short' });

/** "27 Nov" */
export const shortDay = (day: string) => dayFormat.format(new Date(`${day}T12:00:00`));

/** A number of an SVG: a hundredth is exact enough. */
const rounded = (number: number) => Math.round(number * 100) / 100;

/** A part of the width of a plot: it is as wide as its place, and its texts and lines keep their size. */
const percent = (number: number) => `${rounded(number)}%`;

/** Where a plot has a day, in percent of its width, and its values, in pixels. */
export interface Scales {
  /** Where the day's place begins. */
  left: (day: string) => number;
  /** Of a day's place. */
  width: number;
  y: ScaleLinear<number, number>;
}

/** A plot of values by day: see {@link dayPlot}. */
interface DayPlot {
  /** Unique on the page. */
  id: string;
  title: string;
  /** The same in words, for screen readers. */
  description: string;
  days: readonly string[];
  /** The largest value. */
  most: number;
  heightPx?: number;
  /** A value at the axis: short. */
  tickText: (value: number) => string;
  /** The values of a day: shown where the pointer is, and with the arrow keys. */
  dayText: (day: string) => string;
  draw: (scales: Scales) => ComponentChildren;
}

/**
 * A plot of values by day, with its axis beside it. The colours are classes of the stylesheet. The page's script
 * makes the days readable with the arrow keys; the figures are always on the page as a table, too.
 */
export function dayPlot(plot: DayPlot) {
  const { id, title, description, days, most, tickText, dayText, draw } = plot;
  const { heightPx: height = USUAL_HEIGHT_PX } = plot;
  const tickCount = Math.round(height / PX_OF_TICK);
  // A few days have no bars as wide as pages.
  const x = scaleBand()
    .domain(days)
    .range([0, 100])
    .padding(days.length < 10 ? 0.6 : 0.25);
  const y = scaleLinear()
    .domain([0, most])
    .nice(4)
    .range([height - BOTTOM, TOP]);
  const ticks = y.ticks(tickCount);
  const left = (day: string) => x(day) ?? 0;
  const middle = (day: string) => left(day) + x.bandwidth() / 2;
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
      days.map((day) => dayColumn({ left: left(day), width: x.bandwidth(), height }, dayText(day))),
      labelledDays(days, height === USUAL_HEIGHT_PX ? 5 : 3).map((day) =>
        dayLabel(middle(day), height, day),
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

/** The whole height of a day, over its values, which shows them. */
function dayColumn(
  { left, width, height }: { left: number; width: number; height: number },
  text: string,
) {
  return h(
    'g',
    { class: 'day', key: left },
    h('title', null, text),
    h('rect', { x: percent(left), width: percent(width), y: TOP, height: height - TOP - BOTTOM }),
  );
}

/** The first day, the last one and some between them have their names below them: as many as fit on a phone. */
function labelledDays(days: readonly string[], most: number): string[] {
  if (days.length <= most) return [...days];
  const step = (days.length - 1) / (most - 1);
  const places = Array.from({ length: most }, (_, index) => Math.round(index * step));
  return places.flatMap((place) => days[place] ?? []);
}

function dayLabel(middle: number, height: number, day: string) {
  const anchor = middle > 90 ? 'end' : middle < 10 ? 'start' : 'middle';
  const x = { middle, end: 100, start: 0 }[anchor];
  return h(
    'text',
    { key: day, x: percent(x), y: height - 8, 'text-anchor': anchor },
    shortDay(day),
  );
}

/** What the colours of a plot mean. @param titles by the class of each colour */
export function plotLegend(titles: Readonly<Record<string, string>>) {
  return h(
    'ul',
    { class: 'legend' },
    Object.entries(titles).map(([name, title]) => h('li', { key: name, class: name }, title)),
  );
}
