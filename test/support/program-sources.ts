import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './temporary-folder.ts';

const NOWHERE = 'http://127.0.0.1:1';

/** Writes a shell script that prints a text, as a program. @returns its path */
export function writeProgram(folder: string, name: string, says: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\necho ${says}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Several of them. @returns their folder */
export function writePrograms(names: readonly string[], says: string): string {
  const folder = temporaryFolder();
  for (const name of names) writeProgram(folder, name, says);
  return folder;
}

/** What a program prints. */
export const says = (program: string) => execFileSync(program, { encoding: 'utf8' }).trim();

/** The SHA-256 digest of a text or file. */
export const digestOf = (content: string | Buffer) =>
  createHash('sha256').update(content).digest('hex');

/** A machine that has only the programs of a minimal system, and no internet. */
export function bareMachine() {
  const lines: string[] = [];
  return {
    log: (line: string) => void lines.push(line),
    lines,
    cacheRoot: join(temporaryFolder(), 'cache'),
    env: { PATH: '/nowhere' },
    downloadBaseUrl: NOWHERE,
  };
}

/**
 * A local server with the releases of GitHub projects: archives whose programs print `downloaded`.
 *
 * @param projects by the name of the archive: its programs
 */
export async function startReleases(
  projects: Record<string, readonly string[]>,
  { damaged = false } = {},
) {
  const asked: string[] = [];
  const archives = new Map<string, Buffer>();
  for (const [name, names] of Object.entries(projects)) {
    const folder = writePrograms(names, 'downloaded');
    execFileSync('tar', ['-czf', join(folder, 'archive'), '-C', folder, ...names]);
    archives.set(name, readFileSync(join(folder, 'archive')));
  }
  const answer = (url: string): Buffer | string => {
    const file = url.split('/').at(-1) ?? '';
    const version = /\/v([\d.]+)\//.exec(url)?.[1] ?? '';
    const found = [...archives].find(([name]) => file.startsWith(`${name}_${version}_`));
    if (found && !file.endsWith('checksums.txt')) return damaged ? found[1].subarray(1) : found[1];
    return [...archives]
      .flatMap(([name, archive]) =>
        ['linux_amd64', 'linux_arm64', 'darwin_amd64', 'darwin_arm64'].map(
          (platform) => `${digestOf(archive)}  ${name}_${version}_${platform}.tar.gz\n`,
        ),
      )
      .join('');
  };
  const server = createServer((request: IncomingMessage, response) => {
    asked.push(request.url ?? '');
    response.end(answer(request.url ?? ''));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}
