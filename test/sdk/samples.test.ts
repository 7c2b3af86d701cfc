import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, onTestFinished, test as plainTest } from 'vitest';
import { CODE_SAMPLES } from '../../src/docs/samples.ts';
import { serviceTest } from '../support/service-test.ts';

const SDK = fileURLToPath(new URL('../../sdk/', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface OpenApi {
  paths: Record<string, Record<string, { operationId?: string; 'x-codeSamples'?: unknown[] }>>;
}

const test = serviceTest({ time: 'real', worker: false });

test('each operation of the document has a sample in Node, Python and Go', async ({ service }) => {
  const document = (await (await fetch(`${service.origin}/openapi.json`)).json()) as OpenApi;
  const operations = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).filter(({ operationId }) => operationId !== undefined),
  );
  expect(operations.length).toBeGreaterThan(20);
  const without = operations.filter(({ 'x-codeSamples': samples }) => samples?.length !== 3);
  expect(without.map(({ operationId }) => operationId)).toEqual([]);
});

plainTest('the samples in TypeScript fit the SDK', async () => {
  // Inside of the SDK, whose settings of the compiler it takes.
  const folder = await mkdtemp(join(SDK, 'typescript', 'samples-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const functions = Object.entries(CODE_SAMPLES).map(
    ([operationId, [node]]) =>
      `export async function ${operationId}(client: Payorders) {\n${node?.source}\n}`,
  );
  const program = [`import type { Payorders } from '../src/index.ts';`, ...functions].join('\n');
  await writeFile(join(folder, 'samples.ts'), program);
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: '../tsconfig.json',
      compilerOptions: { noEmit: true, rootDir: '..', allowImportingTsExtensions: true },
      include: ['samples.ts'],
    }),
  );
  const compiler = join(ROOT, 'node_modules/.bin/tsc');
  const { exitCode, stdout } = await execa(compiler, ['-p', folder], { reject: false });
  expect([exitCode, stdout]).toEqual([0, '']);
});

/** The methods that the samples of a language call, as `Resource.Method`. */
const callsIn = (label: string) =>
  Object.values(CODE_SAMPLES).flatMap((samples) => {
    const source = samples.find((one) => one.label === label)?.source ?? '';
    const [, resource = '', method = ''] = /client\.(\w+)(?:\(\))?\.(\w+)\(/.exec(source) ?? [];
    return [{ resource, method }];
  });

plainTest('the samples in Python call what the SDK has', () => {
  const source = readFileSync(join(SDK, 'python/src/payorders/_async/client.py'), 'utf8');
  const classes = new Map(
    source.split(/^class Async/m).map((text) => [/^\w+/.exec(text)?.[0].toLowerCase() ?? '', text]),
  );
  for (const { resource, method } of callsIn('Python')) {
    expect(classes.get(resource), `${resource}.${method}`).toContain(` def ${method}(`);
  }
});

plainTest('the samples in Go call what the SDK has', () => {
  for (const { resource, method } of callsIn('Go')) {
    const source = readFileSync(join(SDK, `go/${resource.toLowerCase()}.go`), 'utf8');
    expect(source, `${resource}.${method}`).toContain(`*${resource}) ${method}(`);
  }
});
