import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const FUNCTIONS = 20;

/**
 * Profiles a Go program that serves pprof, with Go's own tool.
 *
 * @returns the lines of the functions with the most own time, or why there are none
 */
export async function topOfGoProfile(origin: string, seconds: number): Promise<string[]> {
  const profile = `${origin}/debug/pprof/profile?seconds=${seconds}`;
  const args = ['tool', 'pprof', '-top', `-nodecount=${FUNCTIONS}`, profile];
  try {
    const { stdout } = await run('go', args);
    return ['The Temporal server, by own time:', ...stdout.trim().split('\n').slice(4)];
  } catch (error) {
    return [`The Temporal server was not profiled, which takes Go: ${String(error)}`];
  }
}
