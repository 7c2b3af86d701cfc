import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { GATEWAY_ADAPTERS } from '../../src/payments/adapters.ts';
import { SERVER_ARTIFACT, UI_ARTIFACT } from '../../dev/temporal/artifacts.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const foldersOf = (folder: string) =>
  readdirSync(`${root}${folder}`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

/** The tree of ARCHITECTURE.md: each folder with its description. */
const tree = /```\n(src\/[^`]+)```/.exec(readFileSync(`${root}ARCHITECTURE.md`, 'utf8'))?.[1] ?? '';
const lines = tree.split('\n');

test.each(['src', 'dev'])(
  'the tree in ARCHITECTURE.md names each folder of %s, and no other',
  (top) => {
    const start = lines.findIndex((line) => line.startsWith(`${top}/`)) + 1;
    const end = lines.findIndex((line, index) => index >= start && !line.startsWith('  '));
    const inTree = lines
      .slice(start, end)
      .flatMap((line) => /^ {2}([\w-]+)\/ /.exec(line)?.[1] ?? []);
    expect(inTree.toSorted()).toEqual(foldersOf(top).toSorted());
  },
);

test('the tree in ARCHITECTURE.md names no file that does not exist', () => {
  const folders: string[] = [];
  const files = lines.flatMap((line) => {
    const [, indent = '', name = ''] = /^( *)([\w./-]+)/.exec(line) ?? [];
    folders.length = indent.length / 2;
    const path = [...folders, name].join('/');
    folders.push(name.replace(/\/$/, ''));
    return name === '' ? [] : [path];
  });
  expect(files).toContain('src/domain/lifecycle.ts');
  for (const file of files) expect(existsSync(`${root}${file}`), file).toBe(true);
});

test('the tree in ARCHITECTURE.md names the folders of test', () => {
  const line = lines.find((candidate) => candidate.startsWith('test/')) ?? '';
  expect(line.split(/\s+/).slice(1).toSorted()).toEqual(foldersOf('test').toSorted());
});

test('the tree in ARCHITECTURE.md names each top-level folder', () => {
  const notSource = new Set(['node_modules', '.git', '.ci', '.data', 'build', 'src']);
  for (const folder of foldersOf('').filter((name) => !notSource.has(name))) {
    expect(tree).toMatch(new RegExp(`^${folder}(/adr)?/`, 'm'));
  }
});

test('what is committed names no path of one machine and no host of a package registry', () => {
  const lock = readFileSync(`${root}package-lock.json`, 'utf8');
  expect(lock).not.toMatch(/"resolved": "http/);
});

test('every package of the lock file has an integrity hash', () => {
  const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8')) as {
    packages: Record<string, { integrity?: string }>;
  };
  const unchecked = Object.keys(packages).filter(
    (name) => name !== '' && packages[name]?.integrity === undefined,
  );
  expect(unchecked).toEqual([]);
});

test('docker-compose.yml runs the versions of Temporal that npm start runs', () => {
  const compose = readFileSync(`${root}docker-compose.yml`, 'utf8');
  const [server] = SERVER_ARTIFACT.releases;
  const [ui] = UI_ARTIFACT.releases;
  expect(compose).toContain(`image: temporalio/server:${server.version}\n`);
  expect(compose).toContain(`image: temporalio/admin-tools:${server.version}\n`);
  expect(compose).toContain(`image: temporalio/ui:${ui.version}\n`);
});

/** The files below these folders, from the repository's top. */
const filesBelow = (folders: readonly string[]) =>
  folders.flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path}`)
      .filter((path) => statSync(`${root}${path}`).isFile()),
  );

test('the dashboard has no SQL: its pages call the features', () => {
  const pages = filesBelow(['src/dashboard']).filter((path) => path.endsWith('.ts'));
  expect(pages.length).toBeGreaterThan(40);
  const withSql = pages.filter((path) =>
    /\bsql(<[^`]*>)?`/.test(readFileSync(`${root}${path}`, 'utf8')),
  );
  expect(withSql).toEqual([]);
});

test('one folder and one line bring a gateway: nothing else of the product names it', () => {
  const files = filesBelow(['src', 'workflows', 'activities']);
  for (const { name } of GATEWAY_ADAPTERS) {
    const naming = files
      .filter((path) => !path.startsWith(`src/payments/${name}/`))
      .filter((path) => readFileSync(`${root}${path}`, 'utf8').toLowerCase().includes(name));
    // The list of the adapters, and the gateway of merchants for whom no operator chose.
    expect(naming.toSorted()).toEqual([
      'src/db/migrations/001.do.merchants.sql',
      'src/payments/adapters.ts',
    ]);
  }
});
