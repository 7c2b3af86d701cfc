import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SetupError } from '../src/setup-error.ts';
import { checkPages, exceptionsIn } from './razorpay-docs/check.ts';
import { readPages } from './razorpay-docs/pages.ts';

const USAGE = `npm run check:razorpay-docs -- PATH

Reads every JSON sample of Razorpay's documents about QR codes, payments, refunds, Route, disputes and
webhooks with the adapter, and prints for each: page, sample, event or entities, outcome, reason.

PATH  a checkout or a bare repository of https://github.com/razorpay/markdown-docs

It exits with 1 if a sample is not read that is not in the table of docs/go-live.md, or if one is read
that is in the table.
`;

const print = (text: string) => process.stdout.write(`${text}\n`);

/** The committed table of the samples that are not read. */
const TABLE = join(import.meta.dirname, '../docs/go-live.md');

function check(path: string): number {
  const { commit, pages } = readPages(path);
  const exceptions = exceptionsIn(readFileSync(TABLE, 'utf8'));
  const { lines, counts, faults } = checkPages(pages, exceptions);
  for (const line of lines) print(line);
  print(`\n${lines.length} samples of ${pages.length} pages at commit ${commit}:`);
  print(
    `${counts.read} read, ${counts.refusal} refusals, ${counts.unused} not used, ${counts.exception} known exceptions, ${faults.length} faults`,
  );
  for (const fault of faults) print(`fault: ${fault}`);
  return faults.length === 0 ? 0 : 1;
}

/** `npm run check:razorpay-docs -- PATH`: see the usage. */
function main(): number {
  const options = { help: { type: 'boolean', short: 'h', default: false } } as const;
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const [path] = positionals;
    if (values.help) print(USAGE);
    else if (path === undefined || positionals.length > 1) throw new SetupError(USAGE);
    else return check(path);
    return 0;
  } catch (error) {
    if (!(error instanceof SetupError) && !(error instanceof TypeError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}

process.exitCode = main();
