import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cachedFolder } from '../../dev/files/cache.ts';
import { tryLock } from '../../dev/files/file-lock.ts';
import { freePort, requireFreePorts } from '../../dev/processes/ports.ts';
import { findProcesses, isRunning } from '../../dev/processes/process-table.ts';
import { moduleUrl, runScript } from '../support/script-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const HOST = '127.0.0.1';
const quiet = () => undefined;

describe('a free port', () => {
  test('is given to one caller, also if another process asks before anything listens there', async () => {
    const from = 19_000;
    const to = from + 100;
    const other = runScript(`
      import { freePort } from '${moduleUrl('dev/processes/ports.ts')}';
      const ports = [];
      while (ports.length < 30) ports.push(await freePort(${from}, ${to}));
      console.log(ports.join(' '));
      setInterval(() => {}, 1000);
    `);
    const ports = (await other.nextLine()).split(' ').map(Number);
    while (ports.length < 60) ports.push(await freePort(from, to));
    expect(new Set(ports).size).toBe(60);
  });
});

describe('the ports that a run needs', () => {
  test('are free: nothing is reported', async () => {
    const wanted = [{ host: HOST, port: await freePort(), variable: 'PORT' }];
    await expect(requireFreePorts(wanted)).resolves.toBeUndefined();
  });

  test('are in use: one line names each port and the variable that changes it', async () => {
    const port = await freePort();
    const other = createServer().listen(port, '0.0.0.0');
    onTestFinished(() => void other.close());
    const wanted = [{ host: HOST, port, variable: 'PORT_OFFSET' }];
    await expect(requireFreePorts(wanted)).rejects.toThrow(
      `Port ${port} is already in use: stop what uses it, or set PORT_OFFSET to another number`,
    );
  });

  test('are the same for two variables: the line names both', async () => {
    const port = await freePort();
    const wanted = ['PORT', 'PORT_OFFSET'].map((variable) => ({ host: HOST, port, variable }));
    await expect(requireFreePorts(wanted)).rejects.toThrow(
      `PORT and PORT_OFFSET are all ${port}: each needs its own port`,
    );
  });
});

describe('a lock', () => {
  test('is held by one process at a time, and is released when that is killed', async () => {
    const file = join(temporaryFolder(), 'lock');
    const holder = runScript(`
      import { tryLock } from '${moduleUrl('dev/files/file-lock.ts')}';
      globalThis.lock = tryLock('${file}');
      console.log('locked');
      setInterval(() => {}, 1000);
    `);
    expect(await holder.nextLine()).toBe('locked');
    expect(tryLock(file)).toBeUndefined();
    await holder.kill();
    const lock = tryLock(file);
    expect(lock).toBeDefined();
    lock?.release();
  });
});

describe('the guard', () => {
  test('ends the children of a killed process and removes its folders', async () => {
    const folder = join(temporaryFolder(), 'with a blank');
    mkdirSync(folder);
    const victim = runScript(`
      import { spawn } from 'node:child_process';
      import { startGuard } from '${moduleUrl('dev/processes/guard.ts')}';
      const guard = await startGuard(['${folder}']);
      const obedient = spawn('sleep', ['1000'], { detached: true });
      const stubborn = spawn('sh', ['-c', 'trap "" TERM; while :; do sleep 1; done'], { detached: true });
      guard.watch(obedient.pid, 'SIGTERM');
      guard.watch(-stubborn.pid, 'SIGKILL');
      console.log([guard.pid, obedient.pid, stubborn.pid].join(' '));
    `);
    const pids = (await victim.nextLine()).split(' ').map(Number);
    expect(pids.every(isRunning)).toBe(true);
    await victim.kill();
    await expect.poll(() => pids.filter(isRunning)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
  });

  test('does nothing after it is released', async () => {
    const folder = temporaryFolder();
    const script = runScript(`
      import { spawn } from 'node:child_process';
      import { startGuard } from '${moduleUrl('dev/processes/guard.ts')}';
      const guard = await startGuard(['${folder}']);
      const child = spawn('sleep', ['1000'], { detached: true });
      guard.watch(child.pid, 'SIGTERM');
      await guard.release();
      console.log(child.pid);
    `);
    const pid = Number(await script.nextLine());
    await script.kill();
    onTestFinished(() => void process.kill(pid));
    expect(isRunning(pid)).toBe(true);
    expect(existsSync(folder)).toBe(true);
  });
});

describe('a process that npm runs', () => {
  test.for([
    { between: 'nothing', command: '"$0" --input-type=module --eval "$1"', exec: 'exec ' },
    { between: 'a shell', command: '"$0" --input-type=module --eval "$1"; exit', exec: '' },
  ])('notices that npm was killed, with $between in between', async ({ command, exec }) => {
    const watcher = `
      import { watchAncestors } from '${moduleUrl('dev/processes/ancestor-watch.ts')}';
      watchAncestors(() => process.exit(), 50);
      setInterval(() => {}, 1000);
      console.log(process.pid);
    `;
    const npm = runScript(`
      import { spawn } from 'node:child_process';
      const args = ['-c', ${JSON.stringify(exec + command)}, process.execPath, ${JSON.stringify(watcher)}];
      spawn('sh', args, { stdio: 'inherit' });
    `);
    const pid = Number(await npm.nextLine());
    expect(isRunning(pid)).toBe(true);
    await npm.kill();
    await expect.poll(() => isRunning(pid)).toBe(false);
  });
});

describe('the process table', () => {
  test('finds a process by its whole arguments, not by parts of them', async () => {
    const argument = `--marker=${temporaryFolder()}`;
    const marked = runScript(`
      import { spawn } from 'node:child_process';
      const script = 'console.log(process.pid); setInterval(() => {}, 1000);';
      spawn(process.execPath, ['-e', script, '--', '${argument}'], { stdio: 'inherit' });
    `);
    const pid = Number(await marked.nextLine());
    onTestFinished(() => void process.kill(pid));
    expect(findProcesses(argument)).toEqual([pid]);
    expect(findProcesses(argument, '-e')).toEqual([pid]);
    expect(findProcesses(argument.slice(0, -1))).toEqual([]);
    expect(findProcesses(argument, '--other')).toEqual([]);
  });
});

describe('a folder of the cache', () => {
  test('is filled once for concurrent callers', async () => {
    const root = join(temporaryFolder(), 'cache');
    let fills = 0;
    const fill = async (folder: string) => {
      fills += 1;
      await writeFile(join(folder, 'tool'), 'made');
    };
    const folders = await Promise.all(
      [1, 2, 3].map(() => cachedFolder({ root, name: 'tool-1', fill, log: quiet })),
    );
    expect(new Set(folders)).toEqual(new Set([join(root, 'tool-1')]));
    expect(fills).toBe(1);
    expect(existsSync(join(root, 'tool-1', 'tool'))).toBe(true);
  });

  test('is removed completely after a failure', async () => {
    const root = join(temporaryFolder(), 'cache');
    const broken = cachedFolder({
      root,
      name: 'tool-1',
      fill: async () => {
        throw new Error('No way left');
      },
      log: quiet,
    });
    await expect(broken).rejects.toThrow('No way left');
    expect(readdirSync(root)).toEqual(['tool-1.lock']);
  });

  test('is filled again after a killed process has left it incomplete', async () => {
    const root = join(temporaryFolder(), 'cache');
    const killed = runScript(`
      import { cachedFolder } from '${moduleUrl('dev/files/cache.ts')}';
      const fill = async () => {
        console.log('filling');
        await new Promise((resolve) => setTimeout(resolve, 1e6));
      };
      await cachedFolder({ root: '${root}', name: 'tool-1', fill, log: console.log });
    `);
    expect(await killed.nextLine()).toBe('filling');
    await killed.kill();
    await cachedFolder({ root, name: 'tool-1', fill: async () => undefined, log: quiet });
    expect(readdirSync(root).toSorted()).toEqual(['tool-1', 'tool-1.lock']);
  });
});
