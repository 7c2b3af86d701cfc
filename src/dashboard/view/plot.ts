import type { ScaleBand, ScaleLinear } from 'd3-scale';
import { scaleBand, scaleLinear } from 'd3-scale';
import type { ComponentChildren } from 'preact';
import { h } from 'preact';

const WIDTH = 720;
const HEIGHT = 260;
/** At each side and below there is place for the larger labels of narrow screens. */
const MARGIN = { top: 16, right: 52, bottom: 40, left: 84 };
/** The most days that have their names below them. */
const MOST_LABELS = 5;

const dayFormat = new Intl.DateTimeFormat('en-IN', { day: 'numeric', month: 'short' });

/** "27 Nov" */
export const shortDay = (day: string) => dayFormat.format(new Date(`${day}T12:00:00`));

/** A number of an SVG: a tenth of a pixel is exact enough. */
export const rounded = (number: number) => Math.round(number * 10) / 10;

/** Where the days and the values of a plot are. */
export interface Scales {
  x: ScaleBand<string>;
  y: ScaleLinear<number, number>;
}

/**
 * A plot of values by day, with the same in words for screen readers. The colours are classes of the
 * stylesheet.
 *
 * @param plot.id unique on the page
 * @param plot.most the largest value
 * @param plot.tickText a value at the axis: short
 */
export function dayPlot(plot: {
  id: string;
  title: string;
  description: string;
  days: readonly string[];
  most: number;
  tickText: (value: number) => string;
  draw: (scales: Scales) => ComponentChildren;
}) {
  const { id, title, description, days, most, tickText, draw } = plot;
  const x = scaleBand()
    .domain(days)
    .range([MARGIN.left, WIDTH - MARGIN.right])
    .padding(0.2);
  const y = scaleLinear()
    .domain([0, most])
    .nice(4)
    .range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  const labelEvery = Math.ceil(days.length / MOST_LABELS);
  const named = days.filter((_, index) => (days.length - 1 - index) % labelEvery === 0);
  return h(
    'svg',
    {
      class: 'plot',
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: 'img',
      'aria-labelledby': `${id}-title ${id}-description`,
    },
    h('title', { id: `${id}-title` }, title),
    h('desc', { id: `${id}-description` }, description),
    ...y.ticks(4).map((tick) => gridLine(y(tick), tickText(tick))),
    draw({ x, y }),
    ...named.map((day) => dayLabel((x(day) ?? 0) + x.bandwidth() / 2, day)),
  );
}

function gridLine(top: number, text: string) {
  const at = rounded(top);
  return h(
    'g',
    { class: 'grid', key: text },
    h('line', { x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: at, y2: at }),
    h('text', { x: MARGIN.left - 8, y: at + 4, 'text-anchor': 'end' }, text),
  );
}

function dayLabel(middle: number, day: string) {
  const place = { x: rounded(middle), y: HEIGHT - 8, 'text-anchor': 'middle' };
  return h('text', { key: day, ...place }, shortDay(day));
}

/** What the colours of a plot mean. @param titles by the class of each colour */
export function plotLegend(titles: Readonly<Record<string, string>>) {
  return h(
    'ul',
    { class: 'legend' },
    Object.entries(titles).map(([name, title]) =>
      h('li', { key: name, class: name }, h('span', null, title)),
    ),
  );
}
