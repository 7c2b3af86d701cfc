import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { inheritedEnvironment, loadConfig } from '../../src/config.ts';
import { cacheRoot } from '../../src/local/cache.ts';
import { freePort } from '../../src/local/ports.ts';
import { describeProcess } from '../../src/local/process-table.ts';
import { findTemporalCli } from '../../src/temporal/cli.ts';
import {
  startTemporalDevServer,
  type TemporalDevServerOptions,
} from '../../src/temporal/dev-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const env = inheritedEnvironment();
const nowhere = 'http://127.0.0.1:1';

/** A program that says who it is. */
function writeProgram(folder: string, name: string, says: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\necho ${says}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Temporal's download service, as it answers for the CLI, on this machine. */
async function startDownloads(): Promise<{ url: string; asked: string[] }> {
  const folder = temporaryFolder();
  writeProgram(folder, 'temporal', 'downloaded');
  execFileSync('tar', ['-czf', join(folder, 'cli.tar.gz'), '-C', folder, 'temporal']);
  const asked: string[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    asked.push(request.url ?? '');
    const archiveUrl = `http://${request.headers.host}/archive/cli.tar.gz`;
    response.end(
      request.url === '/archive/cli.tar.gz'
        ? readFileSync(join(folder, 'cli.tar.gz'))
        : JSON.stringify({ archiveUrl, fileToExtract: 'temporal' }),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** A machine on which there is nothing but the programs of a bare system. */
function bareMachine() {
  const log: string[] = [];
  return {
    log: (line: string) => void log.push(line),
    lines: log,
    cacheRoot: join(temporaryFolder(), 'cache'),
    env: { PATH: '/usr/bin:/bin' },
    temporalCliPath: undefined,
    downloadBaseUrl: nowhere,
  };
}

describe('the Temporal CLI', () => {
  test('is the one that TEMPORAL_CLI_PATH names', async () => {
    const temporalCliPath = writeProgram(temporaryFolder(), 'my-temporal', 'mine');
    expect(await findTemporalCli({ ...bareMachine(), temporalCliPath })).toBe(temporalCliPath);
  });

  test('is refused when TEMPORAL_CLI_PATH names no program', async () => {
    const temporalCliPath = temporaryFolder();
    await expect(findTemporalCli({ ...bareMachine(), temporalCliPath })).rejects.toThrow(
      /^TEMPORAL_CLI_PATH is wrong: it accepts the path of the Temporal CLI/,
    );
  });

  test('is else the one on the PATH', async () => {
    const folder = temporaryFolder();
    const path = writeProgram(folder, 'temporal', 'installed');
    const machine = { ...bareMachine(), env: { PATH: `/nowhere:${folder}` } };
    expect(await findTemporalCli(machine)).toBe(path);
  });

  test('is else downloaded, once', async () => {
    const { url, asked } = await startDownloads();
    const machine = { ...bareMachine(), downloadBaseUrl: url };
    const path = await findTemporalCli(machine);
    expect(execFileSync(path, { encoding: 'utf8' })).toBe('downloaded\n');
    expect(asked[0]).toMatch(/^\/cli\/v1\.5\.1\?arch=(amd64|arm64)&platform=\w+&format=tar\.gz$/);
    expect(await findTemporalCli(machine)).toBe(path);
    expect(asked).toHaveLength(2);
  });

  test('is else built with Go, into the cache', async () => {
    const machine = bareMachine();
    const tools = temporaryFolder();
    // Stands for Go, whose build takes minutes: what matters here is how it is called.
    const go = writeProgram(tools, 'go', '');
    writeFileSync(go, `#!/bin/sh\necho "$@" > "$GOBIN/called"\n: > "$GOBIN/temporal"\n`);
    const path = await findTemporalCli({ ...machine, env: { PATH: `${tools}:/usr/bin:/bin` } });
    expect(path.startsWith(machine.cacheRoot)).toBe(true);
    expect(readFileSync(join(path, '..', 'called'), 'utf8')).toBe(
      'install github.com/temporalio/cli/cmd/temporal@v1.5.1\n',
    );
    expect(machine.lines.some((line) => line.includes('building it with Go'))).toBe(true);
  });

  test('is else missing, and the message names every remedy', async () => {
    const failure = findTemporalCli({ ...bareMachine(), env: { PATH: '/nowhere' } });
    await expect(failure).rejects.toThrow(/PATH.*TEMPORAL_CLI_PATH.*Go.*TEMPORAL_ADDRESS/);
  });
});

describe('the Temporal development server', () => {
  async function options(): Promise<TemporalDevServerOptions> {
    const folder = temporaryFolder();
    const log = () => undefined;
    const { temporalCliPath, cacheHome } = loadConfig();
    const cache = cacheRoot(cacheHome);
    return {
      executable: await findTemporalCli({ temporalCliPath, cacheRoot: cache, env, log }),
      port: await freePort(),
      databaseFile: join(folder, 'temporal.db'),
      logFile: join(folder, 'temporal.log'),
      searchAttributes: [{ name: 'OrderStatus', type: 'Keyword' }],
      env,
      log,
    };
  }

  async function start(given: TemporalDevServerOptions) {
    const server = await startTemporalDevServer(given);
    onTestFinished(() => server.stop());
    const connection = await Connection.connect({ address: server.address });
    onTestFinished(() => connection.close());
    return { server, client: new Client({ connection }) };
  }

  test('keeps its workflows, and takes its search attributes a second time', async () => {
    const given = await options();
    const first = await start(given);
    const { operatorService } = first.client.connection;
    const { customAttributes } = await operatorService.listSearchAttributes({
      namespace: 'default',
    });
    expect(Object.keys(customAttributes)).toContain('OrderStatus');
    await first.client.workflow.start('sleeper', { workflowId: 'kept', taskQueue: 'none' });
    await first.server.stop();
    expect(await first.server.exited).toEqual({ code: 0, signal: null });

    const second = await start(given);
    const { status } = await second.client.workflow.getHandle('kept').describe();
    expect(status.name).toBe('RUNNING');
  });

  test('stops the server that a killed run left on the same database', async () => {
    const given = await options();
    const orphan = await start(given);
    await orphan.client.workflow.start('sleeper', { workflowId: 'kept', taskQueue: 'none' });
    const heir = await start({ ...given, port: await freePort() });
    expect(describeProcess(orphan.server.pid)).toBeUndefined();
    expect((await heir.client.workflow.getHandle('kept').describe()).workflowId).toBe('kept');
  });

  test('serves its Web UI where it is told to', async () => {
    const uiPort = await freePort();
    const { server } = await start({ ...(await options()), uiPort });
    expect(server.uiUrl).toBe(`http://127.0.0.1:${uiPort}`);
    const response = await fetch(`${server.uiUrl}/`);
    expect(response.status).toBe(200);
  });

  test('does not take another server on its port for itself', async () => {
    const given = await options();
    await start(given);
    const twin = { ...given, databaseFile: `${given.databaseFile}-2` };
    await expect(startTemporalDevServer(twin)).rejects.toThrow(
      `port ${given.port} is already in use`,
    );
  });
});
