import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCommandLine } from '../../src/main/process/command-line.ts';
import { openToolFolder } from '../processes/tool-folder.ts';
import { documentOfThisTree } from './document.ts';
import { TOOLS } from './tools.ts';

readCommandLine({
  usage: 'npm run check -- generators',
  does: `Generates and compiles clients of this checkout's OpenAPI document with the generators that shops use, imports
it into Postman, reads the collections made from it and lints it: one line for each tool. It installs the tools from their
registries into a temporary folder, and needs Python and Go.

It exits with 0 if no tool refuses the document.`,
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
  const work = await mkdtemp(join(tmpdir(), 'merchant-orders-generators-'));
  try {
    const document = join(work, 'openapi.json');
    await writeFile(document, await documentOfThisTree());
    let refusals = 0;
    for (const name of Object.keys(TOOLS)) {
      if (!(await check(name, document, work))) refusals += 1;
    }
    return refusals === 0 ? 0 : 1;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

process.exitCode = await main();
