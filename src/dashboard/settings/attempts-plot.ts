import { numberText } from '../../pages/format.ts';
import type { AttemptsOfHour } from '../../webhooks/public.ts';
import { more } from '../view/parts.ts';
import { plotLegend, stackedBars, timePlot } from '../view/plot.ts';
import { dataTable } from '../view/table.ts';

const HOURS = 24;
const HEIGHT_PX = 180;
const TITLES = { accepted: 'Accepted', failed: 'Failed' } as const;
const RESULTS = ['accepted', 'failed'] as const;
type Result = (typeof RESULTS)[number];

/** The attempts of the last 24 hours as stacked bars, with the same figures as a table. */
export function attemptsPlot(some: readonly AttemptsOfHour[]) {
  const hours = Array.from({ length: HOURS }, (_, index) => hourOf(some, HOURS - 1 - index));
  const plot = timePlot({
    id: 'attempts-plot',
    title: 'Attempts by hour and result',
    description: descriptionOf(hours),
    spans: hours.map(spanOf),
    spanText: (span) => (span === '0' ? 'now' : `${span} h ago`),
    most: Math.max(4, ...hours.map(({ accepted, failed }) => accepted + failed)),
    heightPx: HEIGHT_PX,
    tickText: numberText,
    readingText: (span) => readingOf(hourOf(hours, Number(span))),
    draw: (scales) => stackedBars(RESULTS, hours, spanOf, scales),
  });
  return [plotLegend(TITLES), plot, more('The figures as a table', figuresTable(hours))];
}

const hourOf = (hours: readonly AttemptsOfHour[], hoursAgo: number): AttemptsOfHour =>
  hours.find((hour) => hour.hoursAgo === hoursAgo) ?? { hoursAgo, accepted: 0, failed: 0 };

const spanOf = ({ hoursAgo }: AttemptsOfHour) => String(hoursAgo);

const hourText = (hoursAgo: number) =>
  hoursAgo === 0 ? 'The last hour' : `${hoursAgo} to ${hoursAgo + 1} hours ago`;

const readingOf = ({ hoursAgo, accepted, failed }: AttemptsOfHour) =>
  `${hourText(hoursAgo)}: ${numberText(accepted)} accepted, ${numberText(failed)} failed`;

function descriptionOf(hours: readonly AttemptsOfHour[]): string {
  const sumOf = (result: Result) => numberText(hours.reduce((sum, hour) => sum + hour[result], 0));
  return `${sumOf('accepted')} attempts were accepted and ${sumOf('failed')} failed in 24 hours.`;
}

function figuresTable(hours: readonly AttemptsOfHour[]) {
  return dataTable({
    caption: 'Attempts by hour and result, the latest hour first',
    empty: 'There were no attempts.',
    rows: hours.filter(({ accepted, failed }) => accepted + failed > 0).toReversed(),
    columns: [
      { title: 'Hour', cell: ({ hoursAgo }: AttemptsOfHour) => hourText(hoursAgo) },
      ...RESULTS.map((result) => ({
        title: TITLES[result],
        isNumber: true,
        cell: (hour: AttemptsOfHour) => numberText(hour[result]),
      })),
    ],
  });
}
