import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canMount, onSmallDisk } from '../files/small-disk.ts';
import { SetupError } from '../../src/setup-error.ts';
import { DrillFailure } from './support/report.ts';

const DISK_KIB = 512 * 1024;

/**
 * Runs the drill in a process that has a small disk of its own, which PostgreSQL uses: other processes
 * do not see it, and it disappears with the process.
 */
export async function runAlone(): Promise<void> {
  if (!canMount()) throw new SetupError('No disk can be mounted here: run this drill as root');
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-disk-'));
  const command = [process.execPath, join(import.meta.dirname, 'disk-full/main.ts'), folder];
  const [file = '', ...args] = onSmallDisk(folder, DISK_KIB, command);
  const child = spawn(file, args, { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  await rm(folder, { recursive: true });
  if (code !== 0) throw new DrillFailure('A claim about the full disk does not hold: see above');
}
