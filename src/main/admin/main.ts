import { runAdmin } from './run.ts';

/**
 * Runs the admin command line with this process's arguments, and sets its output and exit code.
 *
 * @param findSettings returns the service's environment variables; called if the command needs them
 */
export async function adminMain(findSettings: () => NodeJS.ProcessEnv): Promise<void> {
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const { stdout, stderr, exitCode } = await runAdmin(process.argv.slice(2), findSettings, say);
  // A reader that closes the pipe early, such as head, is not an error.
  process.stdout.on('error', () => undefined);
  if (stdout !== '') process.stdout.write(`${stdout}\n`);
  if (stderr !== '') process.stderr.write(`${stderr}\n`);
  process.exitCode = exitCode;
}
