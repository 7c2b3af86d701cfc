import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { CHECKS } from '../../dev/check.ts';
import { read, root } from './files.ts';

const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
/** The commands that are programs of this repository, by their file; those of tools are the tools'. */
const programs = Object.entries(scripts)
  .filter(([, command]) => command.startsWith('node '))
  .map(([name, command]) => ({ name, words: command.split(' ').slice(1) }));
const behindWords = Object.entries(CHECKS).map(([word, [program = '']]) => ({
  name: `check -- ${word}`,
  words: program.split(' '),
}));
const all = [...programs, ...behindWords];
/** Programs that call `readCommandLine` refuse an option in the same way: one of them stands for all. */
const isLikeOthers = ({ words: [file = ''] }: { words: string[] }) =>
  read(file).includes('readCommandLine(');
const refusing = [
  ...all.filter((one) => !isLikeOthers(one)),
  ...all.filter(isLikeOthers).slice(0, 1),
];

async function run(words: readonly string[]) {
  const program = spawn(process.execPath, words, { cwd: root });
  const [stdout, stderr] = [text(program.stdout), text(program.stderr)];
  const [code] = (await once(program, 'exit')) as [number];
  return { code, stdout: await stdout, stderr: await stderr };
}

test.each(all)('npm run $name answers --help', async ({ words }) => {
  const { code, stdout, stderr } = await run([...words, '--help']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.split('\n').length).toBeGreaterThan(3);
});

test.each(refusing)('npm run $name refuses an unknown option with one line', async ({ words }) => {
  const { code, stdout, stderr } = await run([...words, '--no-such-option']);
  expect(code).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/^[^\n]*--no-such-option[^\n]*\n$/);
});

test('npm run check runs the program of a word with what follows it', async () => {
  const { code, stdout } = await run(['dev/check.ts', 'replay', '--help']);
  expect({ code, first: stdout.split('\n')[0] }).toEqual({
    code: 0,
    first: expect.stringContaining('worker replay'),
  });
});

test.each([[], ['prices'], ['constructor']])(
  'npm run check without a word that it knows names them: %j',
  async (...words) => {
    const { code, stdout, stderr } = await run(['dev/check.ts', ...words]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('size, openapi');
  },
);
