import { equal, match, ok } from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Canaries } from '../../dev/canaries/canary.ts';
import { reportText, searchPlaces } from '../../dev/canaries/report.ts';
import { docker, type Project } from './engine.ts';

/** A name of a check, and what it proves: its result is one line. */
export type Check = (name: string, work: () => Promise<string>) => Promise<void>;

/** What ends a process after its work takes less; what it waited for before took 24 s. */
const IDLE_LIMIT_MS = 5000;
const HEALTH_TIMEOUT_MS = 180_000;
const POLL_MS = 1000;

/** The images of the project that a build has exported, one for each time. */
export function exportsOf(log: string): string[] {
  const named = log.matchAll(/^(#\d+) naming to (\S+)/gm);
  // A step is printed when it begins and when it is done.
  const steps = new Set([...named].map(([, step, image]) => `${step} ${image}`));
  const names = [...steps].map((step) => step.split('/').at(-1)?.split(':')[0] ?? '');
  return names.filter((name) => name.startsWith('merchant-payment-order-service'));
}

/** The time between the last line of a container's log and its end. @throws AssertionError if it idled */
export async function idleOf(id: string): Promise<number> {
  const finished = await docker('inspect', '--format', '{{.State.FinishedAt}}', id);
  const lines = await docker('logs', '--timestamps', '--tail', '1', id);
  const idleMs = Date.parse(finished) - Date.parse(lines.split(' ')[0] ?? '');
  ok(idleMs < IDLE_LIMIT_MS, `it ends ${Math.round(idleMs)} ms after its last line`);
  return Math.max(0, Math.round(idleMs));
}

/** A command of the operators, as deployment.md runs it. */
export async function checkAdmin(project: Project, orderNumber: string): Promise<string> {
  const admin = ['run', '--rm', '-T', '--no-deps', 'admin'];
  const { stdout: help } = await project.mustCompose(...admin, '--help');
  equal(/npm/.test(help), false, `admin --help names npm: ${help}`);
  const shown = ['order', 'show', '--order', orderNumber, '--json'];
  const { stdout, idleMs } = await project.mustCompose(...admin, ...shown);
  match(stdout, new RegExp(orderNumber));
  ok(idleMs < IDLE_LIMIT_MS, `admin ends ${Math.round(idleMs)} ms after its output`);
  return `its help names no npm, and it ends ${Math.round(idleMs)} ms after its output`;
}

/** Searches all logs for the canaries. @param control what must be in the logs, or the search would prove nothing */
export async function checkLogs(
  project: Project,
  canaries: Canaries,
  options: { control: string; leftOut?: readonly string[] },
): Promise<string> {
  const text = await project.logs(...(options.leftOut ?? []));
  ok(text.includes(options.control), `the logs do not have ${options.control}`);
  const searched = searchPlaces('logs', [{ name: 'logs', text }], canaries);
  equal(searched.found.length, 0, reportText(searched));
  const size = `${Math.round(text.length / 1000)} thousand characters`;
  return `none of ${canaries.size()} values in ${size}`;
}

const healthOf = (id: string) =>
  docker('inspect', '--format', '{{if .State.Health}}{{.State.Health.Status}}{{end}}', id);

async function untilAll(containers: ReadonlyMap<string, string>, wanted: string): Promise<void> {
  const signal = AbortSignal.timeout(HEALTH_TIMEOUT_MS);
  for (;;) {
    const read = [...containers].map(async ([name, id]) => [name, await healthOf(id)] as const);
    const other = (await Promise.all(read)).filter(([, health]) => health !== wanted);
    if (other.length === 0) return;
    if (signal.aborted)
      throw new Error(`not ${wanted}: ${other.map((one) => one.join(' is ')).join(', ')}`);
    await delay(POLL_MS);
  }
}

/** Stops or continues all processes of a container: the first from outside, its others from inside. */
async function signalAll(id: string, signal: 'STOP' | 'CONT'): Promise<void> {
  await docker('exec', id, 'sh', '-c', `kill -${signal} -1 || true`);
  await docker('kill', '--signal', signal, id);
}

/** The health check of each service fails while its processes are frozen, and passes when they continue. */
export async function checkFrozen(project: Project, ...services: string[]): Promise<string> {
  const running = await project.containers(...services);
  await untilAll(running, 'healthy');
  for (const id of running.values()) await signalAll(id, 'STOP');
  try {
    await untilAll(running, 'unhealthy');
  } finally {
    for (const id of running.values()) await signalAll(id, 'CONT');
  }
  await untilAll(running, 'healthy');
  return `unhealthy while frozen, healthy afterwards: ${[...running.keys()].toSorted().join(', ')}`;
}

export async function megabytesOf(image: string): Promise<number> {
  return Math.round(Number(await docker('image', 'inspect', '--format', '{{.Size}}', image)) / 1e6);
}

export async function volumes(): Promise<string[]> {
  return (await docker('volume', 'ls', '--quiet')).split('\n').filter(Boolean).toSorted();
}
