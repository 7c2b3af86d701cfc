import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from '../src/setup-error.ts';
import { benchmarkTables } from './documents/benchmarks-page.ts';
import { capacityTables } from './documents/capacity-page.ts';
import { readResults, resultsFolder } from './harness/results.ts';

/** The pages whose figures come from `bench/results`. */
const PAGES = {
  'docs/benchmarks.md': benchmarkTables,
  'docs/capacity.md': capacityTables,
};

/**
 * Writes the figures of bench/results into the pages, between their two markers. With `--local` it
 * reads the results of quick runs, and prints the pages instead.
 */
const isLocal = process.argv.includes('--local');
const results = readResults(resultsFolder({ quick: isLocal, args: [] }));
try {
  for (const [page, tablesOf] of Object.entries(PAGES)) {
    const file = join(import.meta.dirname, '..', page);
    const text = withTables(readFileSync(file, 'utf8'), tablesOf(results));
    if (isLocal) console.log(text);
    else writeFileSync(file, text);
  }
} catch (error) {
  console.error(error instanceof SetupError ? error.message : error);
  process.exitCode = 1;
}

function withTables(page: string, tables: string): string {
  return page.replace(
    /(<!-- figures: [^>]*-->\n).*(<!-- \/figures -->)/s,
    (_, begin: string, end: string) => `${begin}\n${tables}\n\n${end}`,
  );
}
