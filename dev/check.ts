import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { readCommandLine, refuseCommandLine } from '../src/main/process/command-line.ts';

/** The programs behind `npm run check`, by word. The first of several gets the arguments. */
export const CHECKS: Readonly<Record<string, readonly string[]>> = {
  size: ['dev/check-size.ts'],
  openapi: ['test/conformance/schemathesis.ts'],
  clients: ['test/sdk/check-clients.ts', 'dev/clients/generators.ts'],
  generators: ['dev/clients/generators.ts'],
  deploy: ['deploy/check.ts'],
  docker: ['deploy/docker/check.ts'],
  replay: ['dev/admin.ts worker replay'],
};

/** Runs a program with this terminal. @returns its exit code */
async function run(program: string, args: readonly string[]): Promise<number> {
  const words = [...program.split(' '), ...args];
  const [file = '', ...rest] = words;
  const path = join(import.meta.dirname, '..', file);
  const child = spawn(process.execPath, [path, ...rest], { stdio: 'inherit' });
  // The terminal interrupts the program, too; this process ends after it.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill());
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

async function main(given: readonly string[]): Promise<number> {
  const usage = 'npm run check';
  const [word = '', ...args] = given;
  if (word === '' || word.startsWith('-')) {
    const lines = Object.entries(CHECKS).map(
      ([name, of]) => `  ${name.padEnd(14)} ${of.join(', ')}`,
    );
    const does = `Runs the program of a word; --help behind the word says what that does.\n\n${lines.join('\n')}`;
    readCommandLine({ usage, does, operands: 'WORD' }, [...given]);
  }
  const programs = Object.hasOwn(CHECKS, word) ? CHECKS[word] : undefined;
  if (!programs) refuseCommandLine(usage, `The words are ${Object.keys(CHECKS).join(', ')}`);
  for (const [index, program] of programs.entries()) {
    const code = await run(program, index === 0 ? args : []);
    if (code !== 0 || args.includes('--help')) return code;
  }
  return 0;
}

if (import.meta.main) process.exit(await main(process.argv.slice(2)));
