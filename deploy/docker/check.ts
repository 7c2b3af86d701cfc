import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { flagOption, readCommandLine } from '../../src/main/process/command-line.ts';
import type { Check } from './checks.ts';
import { copyCheckout, docker, findEngine } from './engine.ts';
import { checkProduction } from './production.ts';
import { checkSandbox } from './sandbox.ts';

const { values: options } = readCommandLine({
  usage: 'npm run check -- docker',
  does: `Builds the images from a copy of the checkout made with umask 077, runs docker-compose.yml and
deploy/production.yml with them, and checks what they promise: an order becomes PAID, an upgrade under load fails no
request, no log has a secret, health checks fail on a frozen process, and what cannot succeed ends. It uses the ports
of the sandbox, and projects of its own, which it deletes. It exits with 0 if all checks passed.`,
  options: { optional: flagOption('exits with 0 where no Docker daemon answers') },
});

const print = (line: string) => process.stdout.write(`${line}\n`);
let failed = 0;
let passed = 0;

const check: Check = async (name, work) => {
  try {
    print(`${name}: passed: ${await work()}`);
    passed += 1;
  } catch (error) {
    failed += 1;
    print(`${name}: failed: ${(error as Error).message}`);
  }
};

async function main(): Promise<void> {
  const { version, missing } = findEngine();
  if (missing.length > 0) {
    print(`check docker: not run, because ${missing.join(' and ')} cannot be used here`);
    print('  not checked: the images, the sandbox, an upgrade, logs, health checks and volumes');
    process.exitCode = options.optional ? 0 : 1;
    return;
  }
  print(`Docker Engine ${version}, Compose ${await docker('compose', 'version', '--short')}`);
  const folder = mkdtempSync(join(tmpdir(), 'merchant-orders-docker-'));
  try {
    copyCheckout(folder);
    await check('sandbox', () => checkSandbox(folder, check).then(() => 'to its end'));
    await check('production', () => checkProduction(folder, check).then(() => 'to its end'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  print(`check docker: ${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

await main();
