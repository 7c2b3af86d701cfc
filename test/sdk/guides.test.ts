import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished } from 'vitest';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';

const GUIDES = new URL('../../docs/guides/', import.meta.url);
const SDK = new URL('../../sdk/typescript/', import.meta.url);
const FENCE = /```ts\n([\s\S]*?)```/g;

/** The programs in TypeScript of a document. */
const programsOf = (file: URL) =>
  [...readFileSync(file, 'utf8').matchAll(FENCE)].map(([, code = '']) => code);

const guides = readdirSync(GUIDES).map((name) => new URL(name, GUIDES));
/** Those of a README continue each other; those of a guide stand alone. */
const PROGRAMS = [
  { name: 'sdk/typescript/README.md', code: programsOf(new URL('README.md', SDK)).join('\n') },
  ...guides.flatMap((guide) =>
    programsOf(guide).map((code, index) => ({
      name: `${guide.pathname.split('/').at(-1)} ${index + 1}`,
      code,
    })),
  ),
];

const test = serviceTest({ time: 'real' });

test('the commands of the quick start lead an order to COMPLETED', async ({
  service,
  merchant,
}) => {
  const guide = await (await fetch(`${service.origin}/docs/guides/quick-start.md`)).text();
  const { apiKey, apiSecret } = merchant.keys.sandbox;
  const commands = [...guide.matchAll(/```sh\n([\s\S]*?)```/g)]
    .map(([, code = '']) => code)
    .join('\n')
    .replace('mk_test_your_key', apiKey)
    .replace('sk_test_your_secret', apiSecret);
  const { exitCode, stdout } = await execa('bash', ['-c', commands], { reject: false });
  const orderNumber = /^ORD\w{26}$/m.exec(stdout)?.[0] ?? '';
  expect([exitCode, orderNumber], stdout).toEqual([0, expect.stringMatching(/^ORD/)]);
  await until(async () => {
    const { body } = await merchant.sandbox.get(`/orders/${orderNumber}`);
    return body.data.status === 'COMPLETED';
  });
});

test.for(PROGRAMS)('$name runs as it is written', async ({ code }, { service, merchant }) => {
  const folder = await mkdtemp(join(tmpdir(), 'guide-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'program.ts');
  // The package, this service, and a server that does not keep the program running.
  const program = code
    .replaceAll("'payorders'", `'${new URL('src/index.ts', SDK).href}'`)
    .replaceAll('http://127.0.0.1:8080', service.origin)
    .replaceAll('.listen(3000)', '.listen(0).unref()');
  await writeFile(file, program);
  const { apiKey, apiSecret } = merchant.keys.sandbox;
  const { exitCode, stderr } = await execa(process.execPath, [file], {
    reject: false,
    env: {
      PAYORDERS_API_KEY: apiKey,
      PAYORDERS_API_SECRET: apiSecret,
      PAYORDERS_WEBHOOK_SECRET: merchant.webhookSecret,
    },
  });
  expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('Error')]);
});
