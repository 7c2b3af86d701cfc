import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { DRILLS } from '../../dev/drills/drills.ts';

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
  const unnamed = Object.entries(DRILLS)
    .filter(([name, { page }]) => {
      const text = readFileSync(`${folder}${page}`, 'utf8').replaceAll(/\s+/g, ' ');
      return !text.includes(`npm run drill -- ${name}`);
    })
    .map(([name]) => name);
  expect(unnamed).toEqual([]);
});
