import { runAdmin } from './run.ts';

/**
 * The operators' command line as a process: what this process was called with, and its exit code.
 *
 * @param findSettings the settings of the service by their variables, when a command needs them
 */
export async function adminMain(findSettings: () => NodeJS.ProcessEnv): Promise<void> {
  const { stdout, stderr, exitCode } = await runAdmin(process.argv.slice(2), findSettings);
  // A reader that has seen enough, such as head, is no failure.
  process.stdout.on('error', () => undefined);
  if (stdout !== '') process.stdout.write(`${stdout}\n`);
  if (stderr !== '') process.stderr.write(`${stderr}\n`);
  process.exitCode = exitCode;
}
