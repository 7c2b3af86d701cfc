import { equal } from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inheritedEnvironment } from '../../src/settings.ts';

export const REPOSITORY = join(import.meta.dirname, '../..');

/** Long enough for a build without any cache. */
const TIMEOUT_MS = 20 * 60_000;

/** What a command has printed, on both outputs, and how it ended. */
export interface Ended {
  readonly code: number;
  readonly output: string;
  readonly stdout: string;
  /** Between the last output and the end of the command. */
  readonly idleMs: number;
}

export function run(
  cwd: string,
  [file = '', ...args]: readonly string[],
  env: Record<string, string> = {},
): Promise<Ended> {
  const { PATH, HOME, DOCKER_HOST, DOCKER_CONFIG } = inheritedEnvironment();
  const own = { PATH, HOME, DOCKER_HOST, DOCKER_CONFIG, ...env };
  return new Promise((resolve, reject) => {
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    const child = spawn(file, args, { cwd, env: own, stdio: [...stdio], timeout: TIMEOUT_MS });
    let [output, stdout] = ['', ''];
    let lastOutputAtMs = performance.now();
    const keep = (text: string) => {
      output += text;
      lastOutputAtMs = performance.now();
    };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      keep(text);
    });
    child.stderr.setEncoding('utf8').on('data', keep);
    child.once('error', reject);
    child.once('close', (code) => {
      const idleMs = performance.now() - lastOutputAtMs;
      resolve({ code: code ?? -1, output, stdout, idleMs });
    });
  });
}

/** The version of the daemon, and what is missing for this check. */
export function findEngine(): { version: string | undefined; missing: string[] } {
  const { PATH, HOME, DOCKER_HOST, DOCKER_CONFIG } = inheritedEnvironment();
  const answer = (...args: string[]) => {
    const env = { PATH, HOME, DOCKER_HOST, DOCKER_CONFIG };
    const { status, stdout } = spawnSync('docker', args, { env, encoding: 'utf8' });
    return status === 0 ? stdout.trim() : undefined;
  };
  const version = answer('version', '--format', '{{.Server.Version}}');
  const parts = { 'a Docker daemon': version, 'Docker Compose': answer('compose', 'version') };
  const all = { ...parts, buildx: answer('buildx', 'version') };
  const missing = Object.entries(all).filter(([, found]) => found === undefined);
  return { version, missing: missing.map(([name]) => name) };
}

/** Copies the checkout as `git clone` writes it with umask 077 in a set-group-ID folder; root: owned by another. */
export function copyCheckout(folder: string): void {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = spawnSync('git', list, { cwd: REPOSITORY, encoding: 'utf8' });
  for (const file of stdout.split('\0').filter(Boolean)) {
    const from = statSync(join(REPOSITORY, file), { throwIfNoEntry: false });
    if (from === undefined) continue;
    const to = join(folder, file);
    mkdirSync(dirname(to), { recursive: true });
    cpSync(join(REPOSITORY, file), to);
    chmodSync(to, from.mode & 0o100 ? 0o700 : 0o600);
  }
  const all = readdirSync(folder, { recursive: true, withFileTypes: true });
  const folders = all.filter((entry) => entry.isDirectory());
  for (const entry of folders) chmodSync(join(entry.parentPath, entry.name), 0o2700);
  chmodSync(folder, 0o2700);
  if (process.getuid?.() !== 0) return;
  for (const entry of all) chownSync(join(entry.parentPath, entry.name), 12_345, 12_345);
  chownSync(folder, 12_345, 12_345);
}

export interface Project {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  compose(...args: string[]): Promise<Ended>;
  /** As `compose`. @throws AssertionError if it fails */
  mustCompose(...args: string[]): Promise<Ended>;
  /** The ids of the running containers, by service; of some services if they are given. */
  containers(...services: string[]): Promise<Map<string, string>>;
  /** What all containers have logged, but for that of the services that are left out. */
  logs(...leftOut: string[]): Promise<string>;
}

/** @param env the variables of Compose, with COMPOSE_PROJECT_NAME */
export function openProject(folder: string, env: Record<string, string>): Project {
  const compose = (...args: string[]) => run(folder, ['docker', 'compose', ...args], env);
  async function mustCompose(...args: string[]) {
    const ended = await compose(...args);
    equal(ended.code, 0, `docker compose ${args.join(' ')}: ${ended.output.slice(-4000)}`);
    return ended;
  }
  async function containers(...services: string[]) {
    const format = '{{.Service}} {{.ID}}';
    const { stdout } = await mustCompose('ps', '--format', format, ...services);
    const lines = stdout.trim().split('\n').filter(Boolean);
    return new Map(lines.map((line) => line.split(' ') as [string, string]));
  }
  async function logs(...leftOut: string[]) {
    const { stdout } = await mustCompose('config', '--services');
    const services = stdout.trim().split('\n');
    const read = services.filter((name) => !leftOut.includes(name));
    return (await mustCompose('logs', '--no-color', ...read)).stdout;
  }
  return { folder, env, compose, mustCompose, containers, logs };
}

/** Runs `docker` anywhere. @throws AssertionError if it fails */
export async function docker(...args: string[]): Promise<string> {
  const { code, stdout, output } = await run('/', ['docker', ...args]);
  equal(code, 0, `docker ${args.join(' ')}: ${output}`);
  return stdout.trim();
}
