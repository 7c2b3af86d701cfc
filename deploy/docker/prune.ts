import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Removes from `node_modules` what an image does not need at run time. Runs while the image is built,
 * after `npm ci --omit=optional`, in the folder with the `package.json`. Kept are the service's
 * dependencies, and the packages that the arguments name.
 */

const MODULES = 'node_modules';

/**
 * Temporal's SDK loads these when it starts, but calls them only to bundle workflow code, which the
 * image has in WORKFLOW_BUNDLE. Each is replaced by a module that throws if it is called.
 */
const REPLACED = ['webpack', 'memfs', 'unionfs'];

/** The SDK resolves these only when it bundles workflow code. */
const UNUSED = ['@swc/core', 'swc-loader', 'source-map-loader'];

const REPLACEMENT = `function notInThisImage() {
  throw new Error('This image cannot bundle workflow code: WORKFLOW_BUNDLE must name its bundle');
}
module.exports = { webpack: notInThisImage, Volume: notInThisImage, Union: notInThisImage };
`;

/** The sources and tests of packages, and other platforms' binaries, by the package's folder. */
const PARTS_NOT_NEEDED = [
  ...['sdk-core', 'src', 'ts', 'bridge-macros', 'scripts', 'Cargo.toml', 'Cargo.lock'].map((part) =>
    join('@temporalio/core-bridge', part),
  ),
  ...['activity', 'client', 'common', 'nexus', 'proto', 'worker', 'workflow'].map((name) =>
    join('@temporalio', name, 'src'),
  ),
];

/** Types and source maps: neither is read at run time. */
const FILES_NOT_NEEDED = /\.(d\.[cm]?ts|map)$/;

interface Package {
  readonly dependencies?: Readonly<Record<string, string>>;
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** The folder in which Node finds a package that is imported from `from`. */
function findPackage(packages: Record<string, Package>, from: string, name: string) {
  for (let folder = from; ; folder = folder.slice(0, folder.lastIndexOf(`/${MODULES}/`))) {
    const found = join(folder, MODULES, name);
    if (packages[found]) return found;
    if (!folder.includes(`/${MODULES}/`)) break;
  }
  const found = join(MODULES, name);
  return packages[found] ? found : undefined;
}

function neededPackages(packages: Record<string, Package>): Set<string> {
  const needed = new Set<string>();
  const visit = (from: string, { dependencies = {} }: Package) => {
    for (const name of Object.keys(dependencies)) {
      if (REPLACED.includes(name) || UNUSED.includes(name)) continue;
      const folder = findPackage(packages, from, name);
      if (folder === undefined || needed.has(folder)) continue;
      needed.add(folder);
      visit(folder, packages[folder] ?? {});
    }
  };
  visit('', readJson('package.json') as Package);
  visit('', { dependencies: Object.fromEntries(process.argv.slice(2).map((name) => [name, ''])) });
  return needed;
}

function removeUnneededPackages(): void {
  const { packages } = readJson(join(MODULES, '.package-lock.json')) as {
    packages: Record<string, Package>;
  };
  const needed = [...neededPackages(packages)];
  for (const folder of Object.keys(packages)) {
    const contains = needed.some((other) => other === folder || other.startsWith(`${folder}/`));
    if (!contains) rmSync(folder, { recursive: true, force: true });
  }
  rmSync(join(MODULES, '.bin'), { recursive: true, force: true });
}

function writeReplacements(): void {
  for (const name of REPLACED) {
    const folder = join(MODULES, name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), `{"name":"${name}","main":"index.cjs"}\n`);
    writeFileSync(join(folder, 'index.cjs'), REPLACEMENT);
  }
}

function removeUnneededFiles(): void {
  for (const part of PARTS_NOT_NEEDED)
    rmSync(join(MODULES, part), { recursive: true, force: true });
  const releases = join(MODULES, '@temporalio/core-bridge/releases');
  const own = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-unknown-linux-gnu`;
  if (!existsSync(join(releases, own))) throw new Error(`Temporal's SDK has no ${own}`);
  for (const release of readdirSync(releases)) {
    if (release !== own) rmSync(join(releases, release), { recursive: true });
  }
  for (const file of readdirSync(MODULES, { recursive: true, encoding: 'utf8' })) {
    if (FILES_NOT_NEEDED.test(file)) rmSync(join(MODULES, file));
  }
}

removeUnneededPackages();
writeReplacements();
removeUnneededFiles();
