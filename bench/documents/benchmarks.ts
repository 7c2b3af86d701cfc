import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withGenerated } from '../../dev/files/generated.ts';
import { readCommandLine } from '../../src/main/process/command-line.ts';
import { figuresOf } from './benchmarks-page.ts';
import { readResults, resultsFolder } from '../harness/results.ts';

readCommandLine({
  usage: 'npm run docs:benchmarks',
  does: 'Writes the figures of bench/results into docs/benchmarks.md, between its two markers.',
});
const page = join(import.meta.dirname, '../../docs/benchmarks.md');
const figures = figuresOf(readResults(resultsFolder(false)));
writeFileSync(page, withGenerated(readFileSync(page, 'utf8'), 'figures', figures));
