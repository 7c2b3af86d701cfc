import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findOnPath } from '../../dev/processes/executables.ts';
import { openToolFolder } from '../../dev/processes/tool-folder.ts';
import { startWholeService } from '../../dev/start/whole-service.ts';
import { flagOption, readCommandLine } from '../../src/main/process/command-line.ts';
import { inheritedEnvironment } from '../../src/settings.ts';
import type { ClientCheck, Scene } from './client-checks.ts';
import { CLIENT_CHECKS } from './client-checks.ts';

const { values: options } = readCommandLine({
  usage: 'npm run check -- clients',
  does: 'Takes an order through its life with each SDK, against a separate service, and runs the snippets. It installs the Python packages that it needs into a temporary folder. A tool that is not installed is named.',
  options: { strict: flagOption('fails if a tool is not installed') },
});
const env = inheritedEnvironment();

type Result = 'passed' | 'failed' | 'not run';

async function resultOf(
  { name, tool, check }: ClientCheck,
  folder: string,
  sandbox: Scene['sandbox'],
): Promise<Result> {
  const print = (line: string) => console.log(`${name}: ${line}`);
  if (findOnPath(tool, env) === undefined) {
    print(`not run, because ${tool} is not installed`);
    return 'not run';
  }
  try {
    await check({ sandbox, ...(await openToolFolder(folder)) });
    print('passed');
    return 'passed';
  } catch (error) {
    print(`failed\n${error instanceof Error ? error.message : String(error)}`);
    return 'failed';
  }
}

async function main(): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'merchant-orders-clients-'));
  const service = await startWholeService({ RATE_LIMIT_PER_SECOND: '1000' });
  try {
    const { apiBaseUrl, demoMerchant } = service.facts;
    const sandbox = {
      PAYORDERS_BASE_URL: apiBaseUrl,
      PAYORDERS_API_KEY: demoMerchant.sandbox.apiKey,
      PAYORDERS_API_SECRET: demoMerchant.sandbox.apiSecret,
    };
    const results: Result[] = [];
    for (const check of CLIENT_CHECKS) {
      results.push(await resultOf(check, join(folder, String(results.length)), sandbox));
    }
    return results;
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const results = await main();
const count = (wanted: Result) => results.filter((result) => result === wanted).length;
const [passed, failed, notRun] = [count('passed'), count('failed'), count('not run')];
console.log(`check clients: ${passed} passed, ${failed} failed, ${notRun} not run`);
process.exitCode = failed > 0 || (options.strict && notRun > 0) ? 1 : 0;
