import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCommandLine } from '../src/main/process/command-line.ts';
import { SetupError } from '../src/setup-error.ts';
import { checkPages, exceptionsIn } from './razorpay-docs/check.ts';
import { readPages } from './razorpay-docs/pages.ts';

const { operands } = readCommandLine({
  usage: 'npm run check -- razorpay-docs',
  does: `Reads every JSON sample of Razorpay's documents about QR codes, payments, refunds, Route, disputes and
webhooks with the adapter, and prints for each: page, sample, event or entities, outcome, reason. PATH is a
checkout or a bare repository of https://github.com/razorpay/markdown-docs.

It exits with 1 if a sample is not read that is not in the table of docs/go-live.md, or if one is read
that is in the table.`,
  operands: 'PATH',
});

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

/** `npm run check -- razorpay-docs PATH`. */
function main([path, ...others]: string[]): number {
  try {
    if (path === undefined || others.length > 0)
      throw new SetupError('It needs one PATH: see --help');
    return check(path);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
}

process.exitCode = main(operands);
