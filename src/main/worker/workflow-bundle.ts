import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from '@temporalio/worker';
import { bundleWorkflowCode } from '@temporalio/worker';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import { SetupError } from '../../setup-error.ts';

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url));

/** What workflow code may import of this repository (the arrows of ARCHITECTURE.md), and this file. */
const SOURCES = ['workflows', 'src/domain', 'src/contracts', 'src/main/worker/workflow-bundle.ts'];

/** Makes the spans of workflows. */
const TRACING = createRequire(import.meta.url).resolve(
  '@temporalio/interceptors-opentelemetry/lib/workflow-interceptors',
);

/** The file of prebuilt bundles. */
const prebuilt = z.object({
  /** {@link sourcesHash} when it was built. */
  sources: z.string(),
  code: z.string(),
  /** With the interceptors that make spans. */
  tracedCode: z.string(),
});

function filesOf(path: string): string[] {
  if (path.endsWith('.ts')) return [path];
  return readdirSync(join(REPOSITORY, path), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(path, file))
    .toSorted();
}

/** Changes with the workflow code of this checkout and with the version of Temporal's SDK. */
function sourcesHash(): string {
  const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json') as {
    version: string;
  };
  const hash = createHash('sha256').update(version);
  for (const file of SOURCES.flatMap(filesOf)) {
    hash.update(`\0${file}\0`).update(readFileSync(join(REPOSITORY, file)));
  }
  return hash.digest('hex');
}

/**
 * Temporal's SDK takes a stack trace for each promise of a workflow and looks up each call of it in the source map, which
 * takes a third of the processor time of workflow code (docs/adr/0016). Errors of workflows still show the two innermost calls.
 * The SDK freezes `Error` before it runs a workflow, so this is the bundle's first statement, on the first line of
 * the source map.
 */
const SHORT_STACK_TRACES = 'Error.stackTraceLimit = 2;';

/**
 * @param isTraced adds the interceptors that make spans. They change no command of a workflow: both
 *   bundles replay the histories of each other.
 */
async function bundle(
  logger: Logger,
  { isTraced }: { isTraced: boolean },
): Promise<{ code: string }> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(REPOSITORY, 'workflows/index.ts'),
    workflowInterceptorModules: isTraced ? [TRACING] : [],
    logger,
  });
  return { code: SHORT_STACK_TRACES + code };
}

/** Bundles the workflow code, with traces and without, into a file for WORKFLOW_BUNDLE. */
export async function buildWorkflowBundle(file: string, logger: Logger): Promise<void> {
  const sources = sourcesHash();
  const { code } = await bundle(logger, { isTraced: false });
  const { code: tracedCode } = await bundle(logger, { isTraced: true });
  const built: z.infer<typeof prebuilt> = { sources, code, tracedCode };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(built));
}

function readBundle(file: string): z.infer<typeof prebuilt> {
  try {
    return prebuilt.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    const remedy = 'npm run build:workflows writes one';
    throw new SetupError(`WORKFLOW_BUNDLE names no bundle, ${file}: ${remedy}`, { cause });
  }
}

/**
 * This checkout's workflow code, for workers and for replays: the prebuilt bundle if there is one,
 * else bundled now, which takes some seconds and the development tools of Temporal's SDK.
 *
 * @param isTraced whether it makes spans
 * @throws SetupError if the prebuilt bundle cannot be read, or is of other code
 */
export async function loadWorkflows(
  { workflowBundle: file }: Pick<Config, 'workflowBundle'>,
  logger: Logger,
  { isTraced = false } = {},
): Promise<{ code: string }> {
  if (file === undefined) return bundle(logger, { isTraced });
  const { sources, code, tracedCode } = readBundle(file);
  if (sources === sourcesHash()) return { code: isTraced ? tracedCode : code };
  throw new SetupError(
    `WORKFLOW_BUNDLE is of other workflow code than this checkout's, ${file}: npm run build:workflows`,
  );
}
