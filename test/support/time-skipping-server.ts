import { chmod, readdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { cachedFolder } from '../../dev/files/cache.ts';
import type { Guard } from '../../dev/processes/guard.ts';
import { acceptsConnections, freePort } from '../../dev/processes/ports.ts';
import { findOnPath, isExecutable } from '../../dev/processes/executables.ts';
import { withProgress } from '../../dev/processes/progress.ts';
import { runCommand } from '../../dev/processes/run-command.ts';
import { startServerProcess } from '../../dev/processes/server-process.ts';
import { SetupError } from '../../src/setup-error.ts';
import { downloadTestServer } from './temporal-download.ts';

/** The version that Maven fetches if Temporal's download cannot be reached. */
const MAVEN_VERSION = '1.35.0';
const LAUNCHER = 'temporal-test-server';
const CLASS_ARCHIVE = 'classes.jsa';

export interface TimeSkippingServerOptions {
  /** The setting TEMPORAL_TEST_SERVER_PATH, if it is given. */
  readonly temporalTestServerPath: string | undefined;
  readonly cacheRoot: string;
  /** Passed on to `mvn`, `java` and `tar`. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
  readonly downloadBaseUrl?: string;
  readonly guard?: Guard | undefined;
}

const dependency = (groupId: string, artifactId: string, version: string) =>
  `<dependency><groupId>${groupId}</groupId><artifactId>${artifactId}</artifactId><version>${version}</version></dependency>`;

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>time-skipping-server</artifactId>
  <version>1</version>
  <dependencies>
    ${dependency('io.temporal', 'temporal-test-server', MAVEN_VERSION)}
    ${dependency('org.slf4j', 'slf4j-nop', '1.7.36')}
  </dependencies>
</project>
`;

/**
 * The SDK kills the server it started, but not if the test process itself is killed:
 * the launcher does it then.
 */
const launcherScript = (command: string) => `#!/bin/sh
cd "$(dirname "$0")" || exit 1
server=$$ starter=$PPID
(
  while kill -0 "$starter" && kill -0 "$server"; do sleep 1; done
  kill -0 "$starter" || kill -9 "$server"
) </dev/null >/dev/null 2>&1 &
exec ${command} "$@"
`;

/** Measured: starts in half the time and with two thirds of the memory of a plain `java`. */
function javaCommand(jars: readonly string[]): string {
  return [
    '"${JAVA_HOME:+$JAVA_HOME/bin/}java"',
    '-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx512m',
    // Without log, because an archive of another Java version is simply not used.
    `-Xlog:disable -Xshare:auto -XX:\${ARCHIVE_OPTION:-SharedArchiveFile}=${CLASS_ARCHIVE}`,
    `-cp ${jars.map((jar) => `jars/${jar}`).join(':')} io.temporal.testserver.TestServer`,
  ].join(' ');
}

async function writeLauncher(folder: string, command: string): Promise<void> {
  const launcher = join(folder, LAUNCHER);
  await writeFile(launcher, launcherScript(command));
  await chmod(launcher, 0o755);
}

/** Runs the server once to archive its loaded classes, which makes every later start faster. */
async function archiveClasses(folder: string, options: TimeSkippingServerOptions): Promise<void> {
  const port = await freePort();
  const server = await startServerProcess({
    file: join(folder, LAUNCHER),
    args: [String(port)],
    env: { ...options.env, ARCHIVE_OPTION: 'ArchiveClassesAtExit' },
    logFile: join(folder, 'archive.log'),
    stopSteps: [{ signal: 'SIGTERM', waitMs: 30_000 }],
    guard: options.guard,
  });
  let ended = false;
  void server.exited.then(() => (ended = true));
  const deadline = Date.now() + 20_000;
  while (!ended && Date.now() < deadline && !(await acceptsConnections('127.0.0.1', port))) {
    await delay(50);
  }
  await server.stop();
}

async function fetchWithMaven(folder: string, options: TimeSkippingServerOptions): Promise<void> {
  const { env, guard, log } = options;
  const maven = findOnPath('mvn', env);
  if (maven === undefined) {
    throw new SetupError(
      'The time-skipping test server is not on this machine: install Java and Maven, to have it fetched, or set TEMPORAL_TEST_SERVER_PATH to it',
    );
  }
  await writeFile(join(folder, 'pom.xml'), POM);
  const goal = ['dependency:copy-dependencies', '-DoutputDirectory=jars', '-DincludeScope=runtime'];
  const { succeeded, output } = await withProgress(
    log,
    `Time-skipping test server ${MAVEN_VERSION}: fetching it with Maven, once for this machine`,
    () => runCommand(maven, ['-B', '-q', ...goal], { env, cwd: folder, guard }),
  );
  if (!succeeded) {
    throw new SetupError(
      `Maven could not fetch the time-skipping test server (${output.trim().slice(-500)}): set TEMPORAL_TEST_SERVER_PATH to it`,
    );
  }
  const jars = await readdir(join(folder, 'jars'));
  await writeLauncher(folder, javaCommand(jars.toSorted()));
  await archiveClasses(folder, options);
}

/** The version of the SDK, which determines the version of the server. */
function sdkVersion(): string {
  const testing = createRequire(import.meta.url)('@temporalio/testing/package.json') as {
    version: string;
  };
  return testing.version;
}

async function fetchServer(folder: string, options: TimeSkippingServerOptions): Promise<void> {
  const { env, log, downloadBaseUrl } = options;
  const download = { sdkVersion: sdkVersion(), program: 'server', baseUrl: downloadBaseUrl };
  try {
    await withProgress(log, 'Time-skipping test server: downloading it', () =>
      downloadTestServer(folder, download, env),
    );
    await writeLauncher(folder, './server');
  } catch {
    log('Time-skipping test server: no download');
    await fetchWithMaven(folder, options);
  }
}

/**
 * The server on which workflow tests skip time, for
 * `TestWorkflowEnvironment.createTimeSkipping({ server: { executable: { type: 'existing-path', path } } })`:
 * TEMPORAL_TEST_SERVER_PATH, or else the project's cache, filled by Temporal's download or by Maven.
 *
 * @returns the path of an executable that takes a port as its argument.
 * @throws SetupError that names the remedies if no way succeeds.
 */
export async function findTimeSkippingServer(options: TimeSkippingServerOptions): Promise<string> {
  const { temporalTestServerPath, cacheRoot, log } = options;
  if (temporalTestServerPath !== undefined) {
    if (isExecutable(temporalTestServerPath)) return temporalTestServerPath;
    throw new SetupError(
      `TEMPORAL_TEST_SERVER_PATH is wrong: ${temporalTestServerPath} is not a program that can be executed`,
    );
  }
  const name = `time-skipping-server-sdk-${sdkVersion()}`;
  const folder = await cachedFolder({
    root: cacheRoot,
    name,
    fill: (partial) => fetchServer(partial, options),
    log,
  });
  return join(folder, LAUNCHER);
}
