import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import postgres from 'postgres';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../dev/postgres/server.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { isZombie, sendSignal } from '../../dev/processes/process-table.ts';
import { SetupError } from '../../src/setup-error.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

interface Place {
  readonly dataDir: string;
  readonly port: number;
}

/** A folder for a server, which under root the server's own account could not reach. */
async function newPlace(): Promise<Place> {
  return { dataDir: join(temporaryFolder(), 'postgres'), port: await freePort() };
}

async function start(place: Place, signal?: AbortSignal): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({
    ...place,
    logFile: join(place.dataDir, '..', 'postgres.log'),
    log: () => undefined,
    settings: { fsync: 'off' },
    signal,
  });
  onTestFinished(() => server.stop());
  return server;
}

async function query(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    return await sql.unsafe(statement);
  } finally {
    await sql.end();
  }
}

/** A zombie: a process that has ended and whose parent does not reap it while the test runs. */
async function startZombie(): Promise<number> {
  const parent = spawn('sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void parent.kill('SIGKILL'));
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  await until(() => isZombie(pid));
  return pid;
}

describe('the embedded PostgreSQL', () => {
  test('keeps its data and its password from one start to the next', async () => {
    const place = await newPlace();
    const first = await start(place);
    await query(first.adminUrl, `CREATE TABLE kept AS SELECT 'Blaue Bluse, Größe M' AS text`);
    // Not stop, which sends harder signals after some seconds.
    sendSignal(first.pid, 'SIGINT');
    expect(await first.exited).toEqual({ code: 0, signal: null });

    const second = await start(place);
    expect(second.adminUrl).toBe(first.adminUrl);
    expect(await query(second.adminUrl, 'SELECT text FROM kept')).toEqual([
      { text: 'Blaue Bluse, Größe M' },
    ]);
  });

  test('is PostgreSQL 18 in UTF-8 and UTC, with the given settings', async () => {
    const { adminUrl: url } = await start(await newPlace());
    const [row] = await query(
      url,
      `SELECT current_setting('server_version_num')::int / 10000 AS version,
         current_setting('server_encoding') AS encoding, current_setting('TimeZone') AS zone,
         current_setting('fsync') AS fsync, current_setting('listen_addresses') AS addresses`,
    );
    expect(row).toEqual({
      version: 18,
      encoding: 'UTF8',
      zone: 'UTC',
      fsync: 'off',
      addresses: '127.0.0.1',
    });
  });

  test('refuses connections without its password, which only its owner can read', async () => {
    const place = await newPlace();
    const { adminUrl: url } = await start(place);
    const wrong = new URL(url);
    wrong.password = 'guess';
    await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
    expect(statSync(join(place.dataDir, 'superuser-password')).mode & 0o777).toBe(0o600);
    expect(statSync(place.dataDir).mode & 0o777).toBe(0o700);
  });

  test.each([
    ['gone', (file: string) => rmSync(file)],
    ['cut', (file: string) => truncateSync(file, 7)],
  ])('makes a new password when the file with the old one is %s', async (_state, damage) => {
    const place = await newPlace();
    const first = await start(place);
    await first.stop();
    damage(join(place.dataDir, 'superuser-password'));
    const second = await start(place);
    expect(second.adminUrl).not.toBe(first.adminUrl);
    expect(await query(second.adminUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('names another server that runs on the same data, and leaves it alone', async () => {
    const place = await newPlace();
    const { pid, adminUrl } = await start(place);
    await expect(start({ ...place, port: await freePort() })).rejects.toThrow(
      `Another PostgreSQL (process ${pid}) runs on ${place.dataDir}: stop it`,
    );
    expect(await query(adminUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('loses no committed data when it is killed', async () => {
    const place = await newPlace();
    const victim = await start(place);
    await query(victim.adminUrl, 'CREATE TABLE kept AS SELECT 1 AS one');
    process.kill(victim.pid, 'SIGKILL');
    expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' });
    const heir = await start(place);
    expect(await query(heir.adminUrl, 'SELECT one FROM kept')).toEqual([{ one: 1 }]);
  });

  test.each([
    ['its old process id belongs to something else after a reboot', async () => process.ppid],
    ['the killed server of before is still a zombie', startZombie],
  ])('starts though %s', async (_what, otherPid) => {
    const place = await newPlace();
    const first = await start(place);
    const pidFile = join(place.dataDir, 'postmaster.pid');
    const asLeft = readFileSync(pidFile, 'utf8');
    await first.stop();
    writeFileSync(pidFile, asLeft.replace(String(first.pid), String(await otherPid())));
    const second = await start(place);
    expect(await query(second.adminUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('starts again from scratch after an interrupted first start', async () => {
    const place = await newPlace();
    const stop = new AbortController();
    const cutOff = start(place, stop.signal);
    stop.abort(new Error('Stopped'));
    await expect(cutOff).rejects.toThrow('Stopped');
    const { adminUrl: url } = await start(place);
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('reports the reason if its port is taken', async () => {
    const place = await newPlace();
    const other = createServer().listen(place.port, '127.0.0.1');
    onTestFinished(() => void other.close());
    const starting = start(place);
    await expect(starting).rejects.toThrow(SetupError);
    await expect(starting).rejects.toThrow(/PostgreSQL did not start: .*could not/);
  });
});
