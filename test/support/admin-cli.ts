import { expect } from 'vitest';
import { runAdmin } from '../../src/main/admin/run.ts';
import { runPart, type PartResult } from './run-part.ts';

type Settings = Record<string, string>;

/**
 * The operators' command line, run in this process: starting a process takes longer than most commands.
 *
 * @param env the service's settings; this process's environment is not used
 * @param say receives the lines that a command prints while it runs
 */
export const adminCli = (env: Settings, say?: (line: string) => void) =>
  commandsOf(async (...args) => {
    const { stdout, stderr, exitCode } = await runAdmin(args, () => env, say);
    return { code: exitCode, stdout: lineOf(stdout), stderr: lineOf(stderr) };
  });

/** As `src/main/admin.ts` prints it. */
const lineOf = (text: string) => (text === '' ? '' : `${text}\n`);

/** The same in a separate process. */
export const adminProcess = (env: Settings) =>
  commandsOf((...args) => runPart('dev/admin.ts', env, args));

function commandsOf(run: (...args: string[]) => Promise<PartResult>) {
  async function jsonWithCode<Data>(expected: 0 | 1, args: string[]): Promise<Data> {
    const { code, stdout, stderr } = await run(...args, '--json');
    expect({ code, stderr }, stdout).toEqual({ code: expected, stderr: '' });
    return JSON.parse(stdout) as Data;
  }

  async function lineWithCode(expected: 1 | 2, args: string[]): Promise<string> {
    const { code, stdout, stderr } = await run(...args);
    expect({ code, stdout, lines: stderr.trim().split('\n').length }).toEqual({
      code: expected,
      stdout: '',
      lines: 1,
    });
    return stderr.trim();
  }

  return {
    run,
    /** Runs a command that must succeed, and parses its JSON output. */
    json: <Data = Record<string, unknown>>(...args: string[]) => jsonWithCode<Data>(0, args),
    /** The same for a command that completed and reports a finding with exit code 1. */
    jsonOfFailure: <Data = Record<string, unknown>>(...args: string[]) =>
      jsonWithCode<Data>(1, args),
    /** Runs a command that must fail, and returns its one error line. */
    refusal: (...args: string[]) => lineWithCode(1, args),
    /** The same for a command that is typed wrong. */
    misuse: (...args: string[]) => lineWithCode(2, args),
  };
}
export type AdminCli = ReturnType<typeof adminCli>;
