import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCommandLine } from '../../src/main/process/command-line.ts';
import { figuresOf } from './benchmarks-page.ts';
import { readResults, resultsFolder } from '../harness/results.ts';

readCommandLine({
  usage: 'npm run docs:benchmarks',
  does: 'Writes the figures of bench/results into docs/benchmarks.md, between its two markers.',
});
const page = join(import.meta.dirname, '../../docs/benchmarks.md');
const figures = figuresOf(readResults(resultsFolder(false)));
const text = readFileSync(page, 'utf8').replace(
  /(<!-- figures[^>]*-->\n).*(<!-- \/figures -->)/s,
  (_, begin: string, end: string) => `${begin}\n${figures}\n\n${end}`,
);
writeFileSync(page, text);
