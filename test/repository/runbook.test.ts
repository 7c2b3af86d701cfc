import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { drillNames } from '../../dev/drills/support/run.ts';

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
  expect(named).toEqual(expect.arrayContaining(drillNames()));
});
