import { scaleLinear } from 'd3-scale';
import { line } from 'd3-shape';
import type { Curve, Measurement } from './benchmark.ts';
import type { Result } from './results.ts';
import { median } from './statistics.ts';

const WIDTH = 760;
const LABELS = 300;
const RIGHT = 40;
const ROW = 26;
const CURVE_HEIGHT = 220;
const TICKS = 5;

/** The colours work on a light and a dark page. */
const STYLE = `text{font:12px system-ui,sans-serif;fill:#6b7280}.title{font-weight:600}
.grid{stroke:#9ca3af;stroke-opacity:.35}.dot{fill:#3b82f6;fill-opacity:.6}.median{stroke:#1d4ed8;stroke-width:3}
.target{stroke:#dc2626;stroke-dasharray:4 3}.curve{stroke:#3b82f6;stroke-width:2;fill:none}`;

const escape = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const text = (x: number, y: number, content: string, more = '') =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escape(content)}</text>`;

const rule = (kind: string, [x1, y1]: [number, number], [x2, y2]: [number, number]) =>
  `<line class="${kind}" x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}"/>`;

/** A part of the drawing, and the height that it takes. */
interface Part {
  readonly height: number;
  draw(top: number): string;
}

/** The measurements of one unit: a dot for each round, a line at the median and at the target. */
function dotPlot(unit: string, measurements: readonly Measurement[], result: Result): Part {
  const targets = (result.targets ?? []).filter(({ of }) =>
    measurements.some(({ id }) => id === of),
  );
  const bounds = targets.map(({ atLeast, atMost }) => atLeast ?? atMost ?? 0);
  const most = Math.max(...measurements.flatMap(({ rounds }) => rounds), ...bounds);
  const x = scaleLinear()
    .domain([0, most])
    .nice()
    .range([LABELS, WIDTH - RIGHT]);
  const height = 58 + ROW * measurements.length;
  const draw = (top: number) => {
    const rowsTop = top + 26;
    const bottom = rowsTop + ROW * measurements.length;
    const grid = x
      .ticks(TICKS)
      .flatMap((tick) => [
        rule('grid', [x(tick), rowsTop], [x(tick), bottom]),
        text(x(tick), bottom + 16, tick.toLocaleString('en'), 'text-anchor="middle"'),
      ]);
    const rows = measurements.flatMap(({ id, title, rounds }, index) => {
      const y = rowsTop + ROW * (index + 0.5);
      const target = targets.find(({ of }) => of === id);
      const bound = target && (target.atLeast ?? target.atMost ?? 0);
      return [
        text(LABELS - 10, y + 4, title, 'text-anchor="end"'),
        ...rounds.map(
          (value) => `<circle class="dot" cx="${x(value).toFixed(1)}" cy="${y}" r="4"/>`,
        ),
        rule('median', [x(median(rounds)), y - 8], [x(median(rounds)), y + 8]),
        ...(bound === undefined ? [] : [rule('target', [x(bound), y - 12], [x(bound), y + 12])]),
      ];
    });
    return [text(LABELS, top + 14, unit, 'class="title"'), ...grid, ...rows].join('\n');
  };
  return { height, draw };
}

/** One quantity as another one grows. */
function curvePlot({ title, x: xTitle, y: yTitle, points }: Curve): Part {
  const x = scaleLinear()
    .domain([0, Math.max(...points.map(([first]) => first))])
    .range([LABELS / 3, WIDTH - RIGHT]);
  const draw = (top: number) => {
    const bottom = top + CURVE_HEIGHT - 50;
    const y = scaleLinear()
      .domain([0, Math.max(...points.map(([, second]) => second))])
      .nice()
      .range([bottom, top + 30]);
    const path = line<readonly [number, number]>(
      ([first]) => x(first),
      ([, second]) => y(second),
    )(points as [number, number][]);
    return [
      text(LABELS / 3, top + 14, `${title} (${yTitle})`, 'class="title"'),
      ...y
        .ticks(TICKS)
        .flatMap((tick) => [
          rule('grid', [x.range()[0] ?? 0, y(tick)], [WIDTH - RIGHT, y(tick)]),
          text(LABELS / 3 - 8, y(tick) + 4, tick.toLocaleString('en'), 'text-anchor="end"'),
        ]),
      ...x
        .ticks(TICKS)
        .map((tick) =>
          text(x(tick), bottom + 16, tick.toLocaleString('en'), 'text-anchor="middle"'),
        ),
      text(WIDTH - RIGHT, bottom + 32, xTitle, 'text-anchor="end"'),
      `<path class="curve" d="${path ?? ''}"/>`,
      ...points.map(
        ([first, second]) =>
          `<circle class="dot" cx="${x(first).toFixed(1)}" cy="${y(second).toFixed(1)}" r="4"/>`,
      ),
    ].join('\n');
  };
  return { height: CURVE_HEIGHT, draw };
}

/** Draws a result as SVG: its measurements by unit, then its curves. */
export function plotOf(result: Result): string {
  const byUnit = Map.groupBy(result.measurements, ({ unit }) => unit);
  const parts = [
    ...[...byUnit].map(([unit, measurements]) => dotPlot(unit, measurements, result)),
    ...(result.curves ?? []).map(curvePlot),
  ];
  let top = 30;
  const drawn = parts.map((part) => {
    const content = part.draw(top);
    top += part.height;
    return content;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" width="${WIDTH}" height="${top}" role="img">`,
    `<title>${escape(result.name)}</title><style>${STYLE}</style>`,
    text(16, 18, `npm run bench -- ${result.name}: each dot is a round`, 'class="title"'),
    ...drawn,
    '</svg>\n',
  ].join('\n');
}
