import { existsSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { GATEWAY_NAME } from '../../src/contracts/ids.ts';
import { GATEWAY_ADAPTERS } from '../../src/payments/gateway/adapters.ts';
import { SERVER_RELEASE } from '../../dev/temporal-on-postgres/programs.ts';
import { filesBelow, read, root } from './files.ts';

const foldersOf = (folder: string) =>
  readdirSync(`${root}${folder}`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

const architecture = read('ARCHITECTURE.md');
/** The tree of ARCHITECTURE.md: each folder with its description. */
const tree = /```\n(src\/[^`]+)```/.exec(architecture)?.[1] ?? '';
const lines = tree.split('\n');
/** The lines below a folder of the top. */
function linesBelow(top: string): string[] {
  const start = lines.findIndex((line) => line.startsWith(`${top}/`)) + 1;
  const end = lines.findIndex((line, index) => index >= start && !line.startsWith('  '));
  return lines.slice(start, end);
}

test.each(['src', 'dev'])(
  'the tree in ARCHITECTURE.md names each folder of %s, and no other',
  (top) => {
    const inTree = linesBelow(top).flatMap((line) => /^ {2}([\w-]+)\/ /.exec(line)?.[1] ?? []);
    expect(inTree.toSorted()).toEqual(foldersOf(top).toSorted());
  },
);

test('the tree in ARCHITECTURE.md names each file in the root of src', () => {
  const inTree = linesBelow('src').flatMap((line) => /^ {2}([\w-]+\.ts) /.exec(line)?.[1] ?? []);
  const files = readdirSync(`${root}src`).filter((name) => name.endsWith('.ts'));
  expect(inTree.toSorted()).toEqual(files.toSorted());
});

test('the arrows in ARCHITECTURE.md name each file that a folder may import by oxlint.config.ts', () => {
  const [arrows = ''] = /## The arrows[^#]*/.exec(architecture) ?? [];
  const [rules = ''] = /FEATURE_MAY_IMPORT[^]*?\n};/.exec(read('oxlint.config.ts')) ?? [];
  const files = [...rules.matchAll(/'([\w-]+\.ts)'/g)].map(([, name]) => `\`src/${name}\``);
  expect(files.length).toBeGreaterThan(5);
  for (const file of files) expect(arrows).toContain(file);
});

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
  const lock = read('package-lock.json');
  expect(lock).not.toMatch(/"resolved": "http/);
});

test('every package of the lock file has an integrity hash', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { integrity?: string }>;
  };
  const unchecked = Object.keys(packages).filter(
    (name) => name !== '' && packages[name]?.integrity === undefined,
  );
  expect(unchecked).toEqual([]);
});

test('docker-compose.yml and the Go module have the versions of Temporal that the production-like shape runs', () => {
  const compose = read('docker-compose.yml');
  expect(compose).toContain(`image: temporalio/server:${SERVER_RELEASE.version}\n`);
  expect(compose).toContain(`image: temporalio/admin-tools:${SERVER_RELEASE.version}\n`);
  const goModule = read('dev/temporal-on-postgres/go/go.mod');
  expect(goModule).toContain(`go.temporal.io/server v${SERVER_RELEASE.version}\n`);
});

test('the dashboard has no SQL: its pages call the features', () => {
  const pages = filesBelow(['src/dashboard']).filter((path) => path.endsWith('.ts'));
  expect(pages.length).toBeGreaterThan(40);
  const withSql = pages.filter((path) => /\bsql(<[^`]*>)?`/.test(read(path)));
  expect(withSql).toEqual([]);
});

test('one folder and one line bring a gateway: nothing else of the product names it', () => {
  const files = filesBelow(['src', 'workflows', 'activities']);
  for (const { name } of GATEWAY_ADAPTERS) {
    expect(name).toMatch(GATEWAY_NAME);
    const naming = files
      .filter((path) => !path.startsWith(`src/payments/${name}/`))
      .filter((path) => read(path).toLowerCase().includes(name));
    // The list of the adapters, and the gateway of merchants for whom no operator chose.
    expect(naming.toSorted()).toEqual([
      'src/db/migrations/002.do.merchants.sql',
      'src/payments/gateway/adapters.ts',
    ]);
  }
});

test('docs/metrics.md lists each metric of the service, and no other', () => {
  const declared = filesBelow(['src/metrics']).flatMap((path) =>
    [...read(path).matchAll(/\bname: (?:metricName\()?'(\w+)'/g)].map(([, name = '']) => name),
  );
  const rows = read('docs/metrics.md').match(/^\| `.*? \| /gm) ?? [];
  const listed = rows.flatMap((row) =>
    [...row.matchAll(/`(\w+)[{`]/g)].map(([, name = '']) => name),
  );
  expect(listed.toSorted()).toEqual(declared.toSorted());
});

/** The pages that say in the code's own names how the service is built and behaves. */
const BUILT = [
  'ARCHITECTURE.md',
  'docs/metrics.md',
  'docs/who-writes-what.md',
  'docs/failure-modes.md',
];

describe(`a name in backticks in ${BUILT.join(', ')}`, () => {
  const code = filesBelow(['src', 'workflows', 'activities', 'dev', 'deploy']);
  const paths = [...code, ...filesBelow(['docs', 'test'])];
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  /** Every word of the code: identifiers, settings, SQL names, metrics, headers, parts of paths. */
  const words = new Set(
    [...code, 'package.json'].flatMap((path) => read(path).match(/\w+(-\w+)*/g) ?? []),
  );

  const isPath = (name: string) => /^[\w-][\w./-]*\/|\.(ts|sql|md|yml|json)$/.test(name);
  const pathExists = (name: string) =>
    ['', 'src/'].some((folder) => existsSync(`${root}${folder}${name}`)) ||
    paths.some((path) => path.endsWith(`/${name}`));

  /** What does not exist of a name; of `refund_*` and `nodejs_…`, a word must begin with it. */
  function missingOf(name: string): string[] {
    const [, script] = /^npm run (?:-s )?([\w:-]+)/.exec(name) ?? [];
    if (script !== undefined) return script in scripts ? [] : [name];
    // The values that stand in angle brackets, and what separates several names.
    const parts = name.replaceAll(/<[^>]*>/g, ' ').split(/[\s{},()=`:]+/);
    return parts.flatMap((part) => {
      if (isPath(part)) return pathExists(part) ? [] : [part];
      const wanted = part.match(/\w+(-\w+)*[*…]?/g) ?? [];
      return wanted.filter((word) => !wordExists(word));
    });
  }

  function wordExists(word: string): boolean {
    const start = /^(.*)[*…]$/.exec(word)?.[1];
    if (start === undefined) return words.has(word);
    return [...words].some((candidate) => candidate.startsWith(start));
  }

  const names = [
    ...new Set(
      BUILT.flatMap((page) => [
        ...read(page)
          .replaceAll(/```[^]*?```/g, '')
          .matchAll(/`([^`]+)`/g),
      ]).map(([, name = '']) => name),
    ),
  ];

  test('is that of a file, a folder, a script or a word of the code', () => {
    expect(names.length).toBeGreaterThan(100);
    expect(names.flatMap(missingOf)).toEqual([]);
  });
});
