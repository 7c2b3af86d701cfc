import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { DRILLS } from '../../dev/drills/drills.ts';
import { runAdmin } from '../../src/main/admin/run.ts';
import { filesBelow, read } from './files.ts';

const folder = fileURLToPath(new URL('../../docs/runbook/', import.meta.url));
const index = readFileSync(`${folder}README.md`, 'utf8');

test('the index of the runbook names each page', () => {
  const pages = readdirSync(folder).filter((name) => name !== 'README.md');
  const linked = [...index.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, page]) => page);
  expect(linked).toEqual(expect.arrayContaining(pages));
});

test('the index of the runbook names each drill', () => {
  const rows = index.split('\n').filter((line) => line.startsWith('| ['));
  const named = rows.flatMap((row) => [...row.matchAll(/`([\w-]+)`/g)].map(([, name]) => name));
  expect(named).toEqual(expect.arrayContaining(Object.keys(DRILLS)));
});

test('each drill has a page of the runbook, which names its command', () => {
  const unnamed = Object.keys(DRILLS).filter((name) => {
    const text = readFileSync(`${folder}${name}.md`, 'utf8').replaceAll(/\s+/g, ' ');
    return !text.includes(`npm run drill -- ${name}`);
  });
  expect(unnamed).toEqual([]);
});

test('each command of operators that a document names exists', async () => {
  const texts = filesBelow(['docs'])
    .filter((path) => path.endsWith('.md'))
    .map(read);
  const named = texts.flatMap((text) => [
    ...text.replaceAll(/\s+/g, ' ').matchAll(/(?:admin --|`admin) ([a-z-]+ [a-z-]+)/g),
  ]);
  const commands = [...new Set(named.map(([, command = '']) => command))];
  expect(commands.length).toBeGreaterThan(15);
  const answers = commands.map(async (command) => {
    const { exitCode } = await runAdmin([...command.split(' '), '--help'], () => ({}));
    return exitCode === 0 ? [] : [command];
  });
  expect((await Promise.all(answers)).flat()).toEqual([]);
});
