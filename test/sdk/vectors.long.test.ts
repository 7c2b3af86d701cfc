import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findOnPath } from '../../dev/processes/executables.ts';
import { runCommand } from '../../dev/processes/run-command.ts';
import { inheritedEnvironment } from '../../src/settings.ts';
import { root } from '../repository/files.ts';

const env = inheritedEnvironment();

/** Runs the tests of an SDK to their end. @returns what they printed */
async function runTests(program: string, args: string[], folder: string, more: object = {}) {
  const file = findOnPath(program, env);
  if (file === undefined) throw new Error(`The tests of ${folder} need ${program} on the PATH`);
  const settings = { env: { ...env, ...more }, cwd: join(root, folder) };
  const { succeeded, output } = await runCommand(file, args, settings);
  expect(succeeded, output).toBe(true);
  return output;
}

test('the Python SDK agrees with the vectors, without any package installed', async () => {
  const args = ['-m', 'unittest', 'discover', '-s', 'tests'];
  // Without the packages of the machine's user and without files beside the sources.
  const more = { PYTHONPATH: 'src', PYTHONNOUSERSITE: '1', PYTHONDONTWRITEBYTECODE: '1' };
  const output = await runTests('python3', args, 'sdk/python', more);
  expect(output).toMatch(/^OK$/m);
  expect(Number(/^Ran (\d+) tests/m.exec(output)?.[1])).toBeGreaterThan(5);
});

test('the Go SDK agrees with the vectors, is formatted, and go vet finds nothing in it', async () => {
  // With the Go that is here: the module has no dependencies, so that nothing is downloaded.
  const more = { GOTOOLCHAIN: 'local', GOFLAGS: '-mod=readonly', GOWORK: 'off', GOPROXY: 'off' };
  expect(await runTests('gofmt', ['-l', '.'], 'sdk/go')).toBe('');
  await runTests('go', ['vet', './...'], 'sdk/go', more);
  const output = await runTests('go', ['test', '-count=1', '-v', './...'], 'sdk/go', more);
  expect(output.match(/^ *--- PASS/gm)?.length).toBeGreaterThan(30);
});
