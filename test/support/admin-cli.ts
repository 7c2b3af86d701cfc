import { expect } from 'vitest';
import { connectDatabase } from '../../src/db/client.ts';
import { runAdmin } from '../../src/main/admin/run.ts';
import type { AdminIo } from '../../src/main/admin/service.ts';
import { codeOf, operatorUser, PASSWORD, TOTP_SECRET } from './users.ts';
import { runPart, type PartResult } from './run-part.ts';

type Settings = Record<string, string>;

/**
 * The operators' command line, run in this process: starting a process takes longer than most commands.
 *
 * @param env the service's settings; this process's environment is not used
 * @param io receives the lines that a command prints while it runs, and answers its questions
 */
export function adminCli(env: Settings, io: AdminIo = {}) {
  const runWith = async (given: AdminIo, ...args: string[]) => {
    const { stdout, stderr, exitCode } = await runAdmin(args, () => env, given);
    return { code: exitCode, stdout: lineOf(stdout), stderr: lineOf(stderr) };
  };
  return {
    ...commandsOf((...args) => runWith(io, ...args)),
    /**
     * The same, by a new admin who acts alone with --break-glass. The admin is new because each code is accepted
     * once.
     */
    alone: commandsOf(async (...args) => {
      const email = await anAdmin(env);
      const askSecrets = async () => [PASSWORD, codeOf(TOTP_SECRET)];
      const reason = args.includes('--reason') ? [] : ['--reason', 'An emergency'];
      const alone = ['--as', email, '--break-glass', ...reason];
      return runWith({ ...io, askSecrets }, ...args, ...alone);
    }),
  };
}

/** @returns the address of a new admin with a second factor */
async function anAdmin({ DATABASE_URL = '' }: Settings): Promise<string> {
  const sql = connectDatabase(DATABASE_URL, { maxConnections: 1, name: 'test' });
  try {
    return (await operatorUser(sql, 'admin')).email;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

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
