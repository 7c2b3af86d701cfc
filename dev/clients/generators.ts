import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  readCommandLine,
  refuseCommandLine,
  textOption,
} from '../../src/main/process/command-line.ts';
import { openToolFolder } from '../processes/tool-folder.ts';
import { documentOfThisTree } from './document.ts';
import { TOOLS } from './tools.ts';

const usage = 'npm run check -- generators';
const { values, operands } = readCommandLine({
  usage,
  does: `Generates and compiles clients with the generators that shops use, imports the document into Postman,
reads the collections made from it and lints it: one line for each tool. DOCUMENT is a file; without it, the document of this checkout is read.
It installs the tools from their registries, and needs Python and Go.

It exits with 0 if no tool refuses the document.`,
  operands: '[DOCUMENT]',
  options: {
    work: textOption('the folder of the tools, which is kept; without it, a temporary one'),
    only: textOption('the name of one tool'),
  },
});

const print = (line: string) => process.stdout.write(`${line}\n`);

/** None of the programs reports its use or looks for a newer version. */
const VARIABLES = {
  GOFLAGS: '-mod=mod',
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
};

/** @returns whether the tool accepts the document */
async function check(name: string, document: string, work: string): Promise<boolean> {
  const startedAtMs = performance.now();
  try {
    await TOOLS[name]?.({ document, ...(await openToolFolder(join(work, name), VARIABLES)) });
    const seconds = Math.round((performance.now() - startedAtMs) / 1000);
    print(`${name}: ok (${seconds} s)`);
    return true;
  } catch (error) {
    print(`${name}: FAILED\n${(error as Error).message}`);
    return false;
  }
}

async function main(): Promise<number> {
  const { work: kept, only } = values;
  const names = Object.keys(TOOLS).filter((name) => only === undefined || name === only);
  if (names.length === 0)
    refuseCommandLine(usage, `--only accepts ${Object.keys(TOOLS).join(', ')}`);
  const work = resolve(kept ?? (await mkdtemp(join(tmpdir(), 'merchant-orders-generators-'))));
  try {
    await mkdir(work, { recursive: true });
    const [given] = operands;
    const document = given === undefined ? join(work, 'openapi.json') : resolve(given);
    if (given === undefined) await writeFile(document, await documentOfThisTree());
    let refusals = 0;
    for (const name of names) {
      if (!(await check(name, document, work))) refusals += 1;
    }
    return refusals === 0 ? 0 : 1;
  } finally {
    if (kept === undefined) await rm(work, { recursive: true, force: true });
  }
}

process.exitCode = await main();
