export interface ScrapedSample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/gm;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** The samples of a text in Prometheus' format. */
export function samplesOf(text: string): ScrapedSample[] {
  return [...text.matchAll(SAMPLE)].map(([, name = '', labels = '', value]) => ({
    name,
    labels: Object.fromEntries(
      [...labels.matchAll(LABEL)].map(([, label = '', content = '']) => [label, content]),
    ),
    value: Number(value),
  }));
}

/** The value of the sample that has these labels, among others; undefined without one. */
export function valueOf(
  text: string,
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const wanted = Object.entries(labels);
  return samplesOf(text).find(
    (sample) =>
      sample.name === `payment_order_service_${name}` &&
      wanted.every(([label, content]) => sample.labels[label] === content),
  )?.value;
}
