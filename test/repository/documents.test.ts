import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { filesBelow, read, root } from './files.ts';

const documents = filesBelow(['docs']).filter((path) => /\.(md|txt)$/.test(path));
const pages = [...readdirSync(root), ...documents].filter((path) => path.endsWith('.md'));

interface Link {
  target: string;
  anchor: string | undefined;
}

/** The links of a page to other files of the repository, and to headings. */
function linksOf(page: string): Link[] {
  const links = [...read(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [path = '', anchor] = link.split('#');
      return { target: path === '' ? page : join(dirname(page), path), anchor };
    });
}

const anchorsOf = (page: string) =>
  [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );

test.each([
  ['README.md', 900],
  ['ARCHITECTURE.md', 2000],
  ['docs/benchmarks.md', 1500],
])('%s has at most %i words', (page, most) => {
  expect(read(page).trim().split(/\s+/).length).toBeLessThanOrEqual(most);
});

test('ARCHITECTURE.md tells the life of one order before anything else', () => {
  const [first] = read('ARCHITECTURE.md').match(/^## .*$/m) ?? [];
  expect(first).toBe('## The lifecycle of an order, as data flows');
});

test('test/README.md is one screen, and names each folder of test', () => {
  const page = read('test/README.md');
  expect(page.split('\n').length).toBeLessThanOrEqual(45);
  const folders = readdirSync(`${root}test`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  const named = rows.flatMap((row) =>
    [...(row.split(' | ')[0] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  );
  expect(named.toSorted()).toEqual(folders.toSorted());
});

test('the index of the documents names each of them', () => {
  const linked = linksOf('docs/README.md').map(({ target }) => target);
  const missing = documents.filter((path) => !linked.includes(path));
  expect(missing).toEqual(['docs/README.md']);
});

test.each(pages)('the links of %s lead to files and headings that exist', (page) => {
  for (const { target, anchor } of linksOf(page)) {
    expect(existsSync(`${root}${target}`), target).toBe(true);
    if (anchor !== undefined) expect(anchorsOf(target), target).toContain(anchor);
  }
});

/** `docs/chaos.md`, `docs/runbook`, or the number of a decision: `docs/adr/0016`. */
const DOCUMENT = /\bdocs\/(?:(?:adr|runbook|security|screenshots)[\w./-]*\w|[\w-]+\.(?:md|txt))/g;

test('each document that code or another document names exists', () => {
  const code = filesBelow(['src', 'workflows', 'activities', 'dev', 'deploy', 'bench', 'test']);
  const missing = [...pages, ...code].flatMap((path) =>
    (read(path).match(DOCUMENT) ?? [])
      .filter((name) => !documents.some((one) => one.startsWith(name)))
      .filter((name) => !existsSync(`${root}${name}`))
      .map((name) => `${name} in ${path}`),
  );
  expect(missing).toEqual([]);
});

/** `src/domain/lifecycle.ts`, `test/api/orders.test.ts`. */
const CODE = /\b(?:src|workflows|activities|dev|bench|test)\/[\w./-]+\.(?:ts|sql)\b/g;

test('each file of code that a document or a migration names exists', () => {
  const migrations = filesBelow(['src/db']).filter((path) => path.endsWith('.sql'));
  const missing = [...pages, ...migrations].flatMap((path) =>
    (read(path).match(CODE) ?? [])
      .filter(
        (name) => !existsSync(join(root, name)) && !existsSync(join(root, dirname(path), name)),
      )
      .map((name) => `${name} in ${path}`),
  );
  expect(missing).toEqual([]);
});
