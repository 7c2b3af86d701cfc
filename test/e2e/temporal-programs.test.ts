import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findTemporalServer, findTemporalUi } from '../../dev/temporal/programs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const nowhere = 'http://127.0.0.1:1';
const SERVER_PROGRAMS = ['temporal-server', 'temporal-sql-tool'];

/** A program that prints its name. */
function writeProgram(folder: string, name: string, says: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\necho ${says}\n`);
  chmodSync(path, 0o755);
  return path;
}

function writePrograms(names: readonly string[], says: string): string {
  const folder = temporaryFolder();
  for (const name of names) writeProgram(folder, name, says);
  return folder;
}

const says = (program: string) => execFileSync(program, { encoding: 'utf8' }).trim();

/** A machine that has only the programs of a minimal system. */
function bareMachine() {
  const lines: string[] = [];
  return {
    log: (line: string) => void lines.push(line),
    lines,
    cacheRoot: join(temporaryFolder(), 'cache'),
    env: { PATH: '/usr/bin:/bin' },
    temporalProgramsDir: undefined,
    downloadBaseUrl: nowhere,
  };
}

/** A local server with the GitHub releases of the two projects. */
async function startReleases({ damaged = false } = {}) {
  const asked: string[] = [];
  const programs = { temporal: SERVER_PROGRAMS, 'ui-server': ['ui-server'] };
  const archives = new Map<string, Buffer>();
  for (const [name, names] of Object.entries(programs)) {
    const folder = writePrograms(names, 'downloaded');
    execFileSync('tar', ['-czf', join(folder, 'archive'), '-C', folder, ...names]);
    archives.set(name, readFileSync(join(folder, 'archive')));
  }
  const answer = (url: string) => {
    const [, , project = '', , , , file = ''] = url.split('/');
    const [name = ''] = file.split('_');
    const archive = archives.get(project === 'temporal' ? 'temporal' : name) ?? Buffer.alloc(0);
    if (!file.endsWith('checksums.txt')) return damaged ? archive.subarray(1) : archive;
    const version = /\/v([\d.]+)\//.exec(url)?.[1] ?? '';
    const archiveName = project === 'temporal' ? 'temporal' : 'ui-server';
    const digest = createHash('sha256').update(archive).digest('hex');
    return ['linux_amd64', 'linux_arm64', 'darwin_amd64', 'darwin_arm64']
      .map((platform) => `${digest}  ${archiveName}_${version}_${platform}.tar.gz\n`)
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

/** Replaces Go, whose builds take minutes: records its arguments and creates the file. */
function writeGo(refuses: string): { folder: string; calls: () => string[] } {
  const folder = temporaryFolder();
  const callsFile = join(folder, 'calls');
  const go = writeProgram(folder, 'go', '');
  writeFileSync(
    go,
    `#!/bin/sh
echo "$(basename "$PWD") $GOFLAGS $*" >> ${callsFile}
case $PWD in ${refuses}) echo "reading module: 403 Forbidden"; exit 1 ;; esac
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\\necho built\\n' > "$2"; chmod +x "$2"
`,
  );
  return { folder, calls: () => readFileSync(callsFile, 'utf8').trim().split('\n') };
}

describe("Temporal's programs", () => {
  test('are those in TEMPORAL_PROGRAMS_DIR', async () => {
    const temporalProgramsDir = writePrograms([...SERVER_PROGRAMS, 'ui-server'], 'mine');
    const machine = { ...bareMachine(), temporalProgramsDir };
    const { server, sqlTool } = await findTemporalServer(machine);
    expect([says(server), says(sqlTool)]).toEqual(['mine', 'mine']);
    expect(await findTemporalUi(machine)).toBe(join(temporalProgramsDir, 'ui-server'));
  });

  test('are refused when the folder lacks one of the two that are needed', async () => {
    const temporalProgramsDir = writePrograms(['temporal-server'], 'mine');
    await expect(findTemporalServer({ ...bareMachine(), temporalProgramsDir })).rejects.toThrow(
      /^TEMPORAL_PROGRAMS_DIR is wrong: it accepts a folder with temporal-server and temporal-sql-tool/,
    );
  });

  test('are otherwise those on the PATH', async () => {
    const folder = writePrograms([...SERVER_PROGRAMS, 'ui-server'], 'installed');
    const machine = { ...bareMachine(), env: { PATH: `/nowhere:${folder}` } };
    expect((await findTemporalServer(machine)).server).toBe(join(folder, 'temporal-server'));
    expect(await findTemporalUi(machine)).toBe(join(folder, 'ui-server'));
  });

  test('are otherwise downloaded from the official releases, once', async () => {
    const { url, asked } = await startReleases();
    const machine = { ...bareMachine(), downloadBaseUrl: url };
    const found = await findTemporalServer(machine);
    const ui = (await findTemporalUi(machine)) ?? '';
    expect([found.server, found.sqlTool, ui].map(says)).toEqual(Array(3).fill('downloaded'));
    expect(asked[0]).toBe('/temporalio/temporal/releases/download/v1.32.2/checksums.txt');
    expect(asked[1]).toMatch(
      /\/v1\.32\.2\/temporal_1\.32\.2_(linux|darwin)_(amd64|arm64)\.tar\.gz$/,
    );
    expect(asked[2]).toMatch(/\/ui-server\/.*\/v2\.58\.0\/ui-server_2\.58\.0_checksums\.txt$/);
    expect(await findTemporalServer(machine)).toEqual(found);
    expect(asked).toHaveLength(4);
  });

  test('are not taken from an archive whose checksum is wrong', async () => {
    const { url } = await startReleases({ damaged: true });
    const machine = { ...bareMachine(), downloadBaseUrl: url };
    await expect(findTemporalServer(machine)).rejects.toThrow(/Go is not on this machine/);
    expect(machine.lines.join('\n')).toMatch(/no download \(temporal_.* has the checksum/);
  });

  test('are otherwise built with Go from the pinned versions, and kept', async () => {
    const { folder, calls } = writeGo('/none');
    const machine = { ...bareMachine(), env: { PATH: `${folder}:/usr/bin:/bin` } };
    const { server } = await findTemporalServer(machine);
    expect(says(server)).toBe('built');
    expect(dirname(server)).toBe(join(machine.cacheRoot, 'temporal-1.32.2'));
    expect(calls()).toEqual([
      expect.stringMatching(
        /^current -mod=readonly build .* go\.temporal\.io\/server\/cmd\/server$/,
      ),
      expect.stringMatching(/^current -mod=readonly build .*\/cmd\/tools\/sql$/),
    ]);
    expect(machine.lines.some((line) => line.includes('building it with Go'))).toBe(true);
    await findTemporalServer(machine);
    expect(calls()).toHaveLength(2);
  });

  test('are otherwise built from the older versions, if a module of the current ones is refused', async () => {
    const { folder } = writeGo('*/current');
    const machine = { ...bareMachine(), env: { PATH: `${folder}:/usr/bin:/bin` } };
    const { server } = await findTemporalServer(machine);
    expect(dirname(server)).toBe(join(machine.cacheRoot, 'temporal-1.29.1'));
    expect(machine.lines.join('\n')).toContain('1.32.2: no build (reading module: 403 Forbidden)');
    expect((await findTemporalServer(machine)).server).toBe(server);
  });

  test('are built once if two processes need them at the same moment', async () => {
    const { folder, calls } = writeGo('/none');
    const machine = { ...bareMachine(), env: { PATH: `${folder}:/usr/bin:/bin` } };
    const [first, second] = await Promise.all([
      findTemporalServer(machine),
      findTemporalServer(machine),
    ]);
    expect(first).toEqual(second);
    expect(calls()).toHaveLength(2);
    expect(machine.lines.some((line) => line.startsWith('Waiting for another process'))).toBe(true);
  });

  test('are otherwise missing, and one line names every remedy', async () => {
    const failure = findTemporalServer({ ...bareMachine(), env: { PATH: '/nowhere' } });
    await expect(failure).rejects.toThrow(
      /^The Temporal server cannot be had.*PATH.*TEMPORAL_PROGRAMS_DIR.*Go.*TEMPORAL_ADDRESS[^\n]*$/,
    );
  });

  test('cause only a warning if the Web UI is not available', async () => {
    const machine = { ...bareMachine(), env: { PATH: '/nowhere' } };
    expect(await findTemporalUi(machine)).toBeUndefined();
    expect(machine.lines.at(-1)).toMatch(
      /^Warning: the Temporal Web UI cannot be had .*without it$/,
    );
  });
});
