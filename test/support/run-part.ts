import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { PART_ENVIRONMENT } from './part-environment.ts';

/** The output and exit code of a process. */
export interface PartResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Runs a file of the service as a separate process until it ends.
 *
 * @param file relative to the repository
 * @param env its settings; nothing else of this process's environment is passed on
 */
export async function runPart(
  file: string,
  env: Record<string, string>,
  args: readonly string[] = [],
): Promise<PartResult> {
  const entry = join(import.meta.dirname, '../..', file);
  const child = spawn(process.execPath, [entry, ...args], {
    env: { ...PART_ENVIRONMENT, DATA_DIR: join(tmpdir(), 'no-service-here'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}
