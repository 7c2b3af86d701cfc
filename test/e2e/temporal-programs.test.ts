import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findTemporalServer } from '../../dev/temporal-on-postgres/programs.ts';
import * as sources from '../support/program-sources.ts';
import { says, writeProgram, writePrograms } from '../support/program-sources.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const SERVER_PROGRAMS = ['temporal-server', 'temporal-sql-tool'];

const bareMachine = () => ({
  ...sources.bareMachine(),
  env: { PATH: '/usr/bin:/bin' },
});

const startReleases = (options?: { damaged: boolean }) =>
  sources.startReleases({ temporal: SERVER_PROGRAMS }, options);

/** Replaces Go, whose builds take minutes: records its arguments and its module, and creates the file. */
function writeGo(): { folder: string; calls: () => string[] } {
  const folder = temporaryFolder();
  const callsFile = join(folder, 'calls');
  const go = writeProgram(folder, 'go', '');
  writeFileSync(
    go,
    `#!/bin/sh
echo "$(head -n 2 go.mod | tail -n 1) $GOFLAGS $*" >> ${callsFile}
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\\necho built\\n' > "$2"; chmod +x "$2"
`,
  );
  return { folder, calls: () => readFileSync(callsFile, 'utf8').trim().split('\n') };
}

describe("Temporal's programs", () => {
  test('are those on the PATH', async () => {
    const folder = writePrograms(SERVER_PROGRAMS, 'installed');
    const machine = { ...bareMachine(), env: { PATH: `/nowhere:${folder}` } };
    expect((await findTemporalServer(machine)).server).toBe(join(folder, 'temporal-server'));
  });

  test('are otherwise downloaded from the official releases, once', async () => {
    const { url, asked } = await startReleases();
    const machine = { ...bareMachine(), downloadBaseUrl: url };
    const found = await findTemporalServer(machine);
    expect([found.server, found.sqlTool].map(says)).toEqual(['downloaded', 'downloaded']);
    expect(asked[0]).toBe('/temporalio/temporal/releases/download/v1.32.2/checksums.txt');
    expect(asked[1]).toMatch(
      /\/v1\.32\.2\/temporal_1\.32\.2_(linux|darwin)_(amd64|arm64)\.tar\.gz$/,
    );
    expect(await findTemporalServer(machine)).toEqual(found);
    expect(asked).toHaveLength(2);
  });

  test('are not taken from an archive whose checksum is wrong', async () => {
    const { url } = await startReleases({ damaged: true });
    const machine = { ...bareMachine(), downloadBaseUrl: url };
    await expect(findTemporalServer(machine)).rejects.toThrow(/Go is not on this machine/);
    expect(machine.lines.join('\n')).toMatch(/no download \(temporal_.* has the checksum/);
  });

  test('are otherwise built with Go from the pinned versions, and kept', async () => {
    const { folder, calls } = writeGo();
    const machine = { ...bareMachine(), env: { PATH: `${folder}:/usr/bin:/bin` } };
    const { server } = await findTemporalServer(machine);
    expect(says(server)).toBe('built');
    expect(dirname(server)).toBe(join(machine.cacheRoot, 'temporal-1.32.2'));
    expect(calls()).toEqual([
      expect.stringMatching(
        /^module temporal-server -mod=mod build .* go\.temporal\.io\/server\/cmd\/server$/,
      ),
      expect.stringMatching(/^module temporal-server -mod=mod build .*\/cmd\/tools\/sql$/),
    ]);
    expect(machine.lines.some((line) => line.includes('building it with Go'))).toBe(true);
    await findTemporalServer(machine);
    expect(calls()).toHaveLength(2);
  });

  test('are built once if two processes need them at the same moment', async () => {
    const { folder, calls } = writeGo();
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
      /^The Temporal server cannot be had.*PATH.*Go.*TEMPORAL_ADDRESS[^\n]*$/,
    );
  });
});
