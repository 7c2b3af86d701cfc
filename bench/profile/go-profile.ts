import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const FUNCTIONS = 20;

/** Profiles a Go program that serves pprof, and writes the profile into a file. */
export async function writeGoProfile(origin: string, seconds: number, file: string): Promise<void> {
  const response = await fetch(`${origin}/debug/pprof/profile?seconds=${seconds}`);
  await writeFile(file, Buffer.from(await response.arrayBuffer()));
}

/** The lines of the functions with the most own time, by Go's own tool, or why there are none. */
export async function topOfGoProfile(file: string): Promise<string[]> {
  try {
    const args = ['tool', 'pprof', '-top', `-nodecount=${FUNCTIONS}`, file];
    const { stdout } = await run('go', args);
    return stdout.trim().split('\n').slice(4);
  } catch (error) {
    return [`Go's tool reads the profile: ${String(error)}`];
  }
}
