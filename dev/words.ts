import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { readCommandLine, refuseCommandLine } from '../src/main/process/command-line.ts';

type Words = Readonly<Record<string, readonly string[]>>;

/** The programs behind `npm run check` and `npm run generate`, by word. The first of several gets the arguments. */
export const WORDS: Readonly<Record<'check' | 'generate', Words>> = {
  check: {
    size: ['dev/check-size.ts'],
    openapi: ['test/conformance/schemathesis.ts'],
    clients: ['test/sdk/check-clients.ts', 'dev/clients/generators.ts'],
    generators: ['dev/clients/generators.ts'],
    deploy: ['deploy/check.ts'],
    docker: ['deploy/docker/check.ts'],
    replay: ['dev/admin.ts worker replay'],
    canaries: ['dev/canaries.ts'],
    'razorpay-docs': ['dev/check-razorpay-docs.ts'],
  },
  generate: {
    settings: ['dev/settings-table.ts'],
    permissions: ['dev/permissions-table.ts'],
    scenarios: ['dev/scenarios-guide.ts'],
    icons: ['dev/icon-sprite.ts'],
    vectors: ['dev/sdk-vectors.ts'],
  },
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

async function main(group: 'check' | 'generate', given: readonly string[]): Promise<number> {
  const words = WORDS[group];
  const usage = `npm run ${group}`;
  const names = Object.keys(words).join(', ');
  const [word = '', ...args] = given;
  if (word === '' || word.startsWith('-')) {
    const lines = Object.entries(words).map(
      ([name, of]) => `  ${name.padEnd(14)} ${of.join(', ')}`,
    );
    const does = `Runs the program of a word; --help behind the word says what that does.\n\n${lines.join('\n')}`;
    readCommandLine({ usage, does, operands: 'WORD' }, [...given]);
  }
  const programs = Object.hasOwn(words, word) ? words[word] : undefined;
  if (!programs) refuseCommandLine(usage, `The words are ${names}`);
  for (const [index, program] of programs.entries()) {
    const code = await run(program, index === 0 ? args : []);
    if (code !== 0 || args.includes('--help')) return code;
  }
  return 0;
}

if (import.meta.main) {
  const [group, ...given] = process.argv.slice(2);
  process.exit(await main(group === 'generate' ? group : 'check', given));
}
