import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';

const ADMIN = join(import.meta.dirname, '../../src/main/admin.ts');

/** What a command printed, and how it ended. */
export interface AdminResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * The operators' command line, as a process of its own.
 *
 * @param env the settings of the service; nothing else of this process's environment is handed on
 */
export function adminCli(env: Record<string, string>) {
  async function run(...args: string[]): Promise<AdminResult> {
    const child = spawn(process.execPath, [ADMIN, ...args], {
      env: { PATH: process.env['PATH'], DATA_DIR: join(tmpdir(), 'no-service-here'), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit') as Promise<[number | null]>,
    ]);
    return { code, stdout, stderr };
  }

  return {
    run,
    /** Runs a command that must succeed, and reads its one JSON document. */
    async json<Data = Record<string, unknown>>(...args: string[]): Promise<Data> {
      const { code, stdout, stderr } = await run(...args, '--json');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return JSON.parse(stdout) as Data;
    },
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
