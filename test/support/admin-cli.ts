import { expect } from 'vitest';
import { runPart, type PartResult } from './run-part.ts';

/**
 * The operators' command line, as a process of its own.
 *
 * @param env the settings of the service; nothing else of this process's environment is handed on
 */
export function adminCli(env: Record<string, string>) {
  const run = (...args: string[]): Promise<PartResult> => runPart('admin.ts', env, args);

  async function jsonWithCode<Data>(expected: 0 | 1, args: string[]): Promise<Data> {
    const { code, stdout, stderr } = await run(...args, '--json');
    expect({ code, stderr }, stdout).toEqual({ code: expected, stderr: '' });
    return JSON.parse(stdout) as Data;
  }

  return {
    run,
    /** Runs a command that must succeed, and reads its one JSON document. */
    json: <Data = Record<string, unknown>>(...args: string[]) => jsonWithCode<Data>(0, args),
    /** The same for one that did its work, and says with exit 1 that it found something wrong. */
    jsonOfFailure: <Data = Record<string, unknown>>(...args: string[]) =>
      jsonWithCode<Data>(1, args),
    /** The one line with which a command must fail. */
    async refusal(...args: string[]): Promise<string> {
      const { code, stdout, stderr } = await run(...args);
      expect({ code, stdout, lines: stderr.trim().split('\n').length }).toEqual({
        code: 1,
        stdout: '',
        lines: 1,
      });
      return stderr.trim();
    },
  };
}
export type AdminCli = ReturnType<typeof adminCli>;
