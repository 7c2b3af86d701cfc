import type { Page } from './pages.ts';
import type { Reading } from './read-sample.ts';
import { readSample } from './read-sample.ts';
import { jsonSamples } from './samples.ts';

/** A sample that is known not to be read. */
export interface Exception {
  page: string;
  sample: number;
  reason: string;
}

/** The rows of the table in docs/go-live.md: page, number and title of the sample, reason. */
export function exceptionsIn(document: string): Exception[] {
  const rows = document.matchAll(/^\| `([^`\n]+)` \| (\d+) [^|\n]*\| (.+) \|$/gm);
  return [...rows].map(([, page = '', sample, reason = '']) => ({
    page,
    sample: Number(sample),
    reason,
  }));
}

/** The result of reading every sample. */
export interface Checked {
  /** One line for each sample: page, number and title, event or entities, outcome, reason. */
  lines: string[];
  counts: Record<Reading['outcome'] | 'exception', number>;
  /** What is wrong: samples that are not read, and exceptions that are none. */
  faults: string[];
}

/** Reads every sample of the pages, and compares what is not read with the known exceptions. */
export function checkPages(pages: readonly Page[], exceptions: readonly Exception[]): Checked {
  const counts = { read: 0, refusal: 0, unused: 0, 'not read': 0, exception: 0 };
  const lines: string[] = [];
  const faults: string[] = [];
  const unseen = new Set(exceptions);
  for (const { path, text } of pages) {
    for (const { number, title, text: sample } of jsonSamples(text)) {
      const { outcome, what, reason } = readSample(sample);
      const known = exceptions.find((one) => one.page === path && one.sample === number);
      if (known) unseen.delete(known);
      const isException = outcome === 'not read' && known !== undefined;
      counts[isException ? 'exception' : outcome] += 1;
      const explained = isException ? `known: ${known.reason}` : reason;
      const line = [path, `${number} ${title}`.trim(), what, outcome, explained ?? ''].join(' | ');
      lines.push(line);
      if (outcome === 'not read' && !known) faults.push(line);
      if (outcome !== 'not read' && known) {
        faults.push(`${path} | ${number} ${title} | is no exception: ${outcome}`);
      }
    }
  }
  for (const { page, sample } of unseen)
    faults.push(`${page} | ${sample} | there is no such sample`);
  return { lines, counts, faults };
}
