import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { deepEqual } from 'node:assert/strict';
import { installPython, type ToolFolder } from '../../dev/processes/tool-folder.ts';
import { root } from '../repository/files.ts';

/** What a check works with: a temporary folder of its own. */
export interface Scene extends ToolFolder {
  /** The keys and the address of a running sandbox, as the examples read them. */
  readonly sandbox: NodeJS.ProcessEnv;
}

/** A check of one language. */
export interface ClientCheck {
  readonly name: string;
  /** The program that it cannot do without. */
  readonly tool: string;
  readonly check: (scene: Scene) => Promise<void>;
}

/** What the Python SDK is checked with. */
const PYTHON_PACKAGES = ['mypy==2.4.1', 'flask==3.1.3', 'django==5.2.19', 'fastapi==0.165.0'];

/** What the example of each SDK prints, which is the life of an order. */
const LIFE = [
  'created ACCEPTED 499.50',
  'again true',
  'paid PAID',
  'delivered DELIVERED',
  'disputed DISPUTE_OPEN',
  'evidence DISPUTE_UNDER_REVIEW',
  'resolved DELIVERED',
  'next the order is completed and the funds are released',
  'session open',
  'listed 2',
  'cancelled CANCELLED',
  'event 1 ORDER_CREATED',
  'event 2 PAYMENT_SUCCESS',
  'event 3 DELIVERY_CONFIRMED',
  'event 4 DISPUTE_RAISED',
  'event 5 DISPUTE_RESOLVED',
  'details ORDER_CREATED',
  'error 400 INVALID_STATE',
  'error 400 VALIDATION_FAILED amount',
  'error 201 IDEMPOTENCY_KEY_MISMATCH',
];

function assertLife(output: string): void {
  const lines = output.trim().split('\n');
  deepEqual(
    // Python writes True.
    lines.map((line) => line.trimEnd().replace(/True$/, 'true')),
    LIFE,
  );
}

const sdk = (path: string) => join(root, 'sdk', path);

/** The programs of a language in the chapter about receivers. */
function programsOf(language: 'python' | 'go'): string[] {
  const chapter = readFileSync(join(root, 'docs/guides/receivers.md'), 'utf8');
  const blocks = chapter.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'));
  const programs = [...blocks].map(([, code = '']) => code);
  if (programs.length === 0)
    throw new Error(`docs/guides/receivers.md has no program in ${language}`);
  return programs;
}

/** Other runtimes that the TypeScript SDK is for, as the packages of this platform. */
function runtimes() {
  const { platform, arch } = process;
  const deno = `@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}@2.9.6`;
  const bun = `@oven/bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}@1.4.5`;
  return [
    {
      packageName: deno,
      program: 'deno',
      args: ['run', '--allow-all', '--node-modules-dir=manual'],
    },
    { packageName: bun, program: 'bin/bun', args: [] },
  ];
}

/** The package as a merchant gets it, from its build. */
async function checkTypeScript({ folder, sandbox, run, write }: Scene): Promise<void> {
  const installed = join(folder, 'node_modules/payorders');
  mkdirSync(installed, { recursive: true });
  const compiler = join(root, 'node_modules/.bin/tsc');
  await run(compiler, ['-p', sdk('typescript'), '--outDir', join(installed, 'dist')]);
  cpSync(sdk('typescript/package.json'), join(installed, 'package.json'));
  const shop = { type: 'module', dependencies: { payorders: '*' } };
  await write('package.json', JSON.stringify(shop));
  const example = join(folder, 'order-life.mjs');
  cpSync(sdk('typescript/examples/order-life.mjs'), example);
  assertLife(await run(execPath, [example], { env: sandbox }));
  for (const { packageName, program, args } of runtimes()) {
    const install = ['install', '--no-save', '--ignore-scripts', '--silent'];
    await run('npm', [...install, '--prefix', join(folder, program), packageName]);
    const file = join(folder, program, 'node_modules', packageName.replace(/@[^@]*$/, ''), program);
    assertLife(await run(file, [...args, example], { env: sandbox }));
  }
}

/** The package as pip builds and installs it, with both clients. Its tests that need packages run here, and mypy. */
async function checkPython(scene: Scene): Promise<void> {
  const { folder, sandbox } = scene;
  const source = join(folder, 'python');
  // pip writes into the folder that it builds.
  cpSync(sdk('python'), source, { recursive: true });
  cpSync(sdk('test-vectors.json'), join(folder, 'test-vectors.json'));
  const programs = await installPython(scene, source, ...PYTHON_PACKAGES);
  const python = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    scene.run(join(programs, 'python'), args, { cwd: source, env });
  await python(['-m', 'mypy', '--strict', '-p', 'payorders']);
  await python(['-m', 'mypy', '--strict', 'tests', 'client_tests', 'examples']);
  for (const tests of ['tests', 'client_tests']) {
    await python(['-m', 'unittest', 'discover', '-s', tests]);
  }
  for (const program of programsOf('python')) {
    await python(['-c', program], { PAYORDERS_WEBHOOK_SECRET: 'whsec_any' });
  }
  for (const example of ['order_life.py', 'order_life_async.py']) {
    assertLife(await python([`examples/${example}`], sandbox));
  }
}

/** The module in a program of a merchant. */
async function checkGo({ folder, sandbox, run, write }: Scene): Promise<void> {
  const { length } = readFileSync(sdk('go/go.mod'), 'utf8').split('require');
  deepEqual(length, 1, 'The Go module has dependencies');
  cpSync(sdk('go/examples/order_life/main.go'), join(folder, 'main.go'));
  const go = (...args: string[]) =>
    run('go', args, { env: { ...sandbox, GOFLAGS: '-mod=mod', GOPROXY: 'off' } });
  await go('mod', 'init', 'shop.example/shop');
  const version = ['-require', 'example.com/payorders@v0.0.0'];
  const place = ['-replace', `example.com/payorders=${sdk('go')}`];
  await go('mod', 'edit', ...version, ...place);
  assertLife(await go('run', '.'));
  for (const program of programsOf('go')) {
    await write('main.go', program);
    await go('vet', '.');
  }
}

const snippet = (name: string, tool: string, file: string): ClientCheck => ({
  name,
  tool,
  check: async ({ run }) => {
    await run(tool, [file, sdk('test-vectors.json')], { cwd: sdk('snippets') });
  },
});

/** What `npm run check -- clients` checks, in this order. */
export const CLIENT_CHECKS: readonly ClientCheck[] = [
  { name: 'TypeScript', tool: 'node', check: checkTypeScript },
  { name: 'Python', tool: 'python3', check: checkPython },
  { name: 'Go', tool: 'go', check: checkGo },
  snippet('snippet for PHP', 'php', 'verify.php'),
  snippet('snippet for Ruby', 'ruby', 'verify.rb'),
  snippet('snippet for Java', 'java', 'Verify.java'),
];
