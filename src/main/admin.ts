import { runAdmin } from './admin/run.ts';

/** `npm run -s admin -- <command>`: the operators' command line. */
const { stdout, stderr, exitCode } = await runAdmin(process.argv.slice(2));
// A reader that has seen enough, such as head, is no failure.
process.stdout.on('error', () => undefined);
if (stdout !== '') process.stdout.write(`${stdout}\n`);
if (stderr !== '') process.stderr.write(`${stderr}\n`);
process.exitCode = exitCode;
