import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Whether this user and container may mount a disk, which needs root and CAP_SYS_ADMIN. */
export function canMount(): boolean {
  const { status } = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']);
  return status === 0;
}

/**
 * Wraps a command so that it runs with a small separate disk in a folder. Only that process sees the
 * disk, and the disk disappears with it.
 */
export function onSmallDisk(folder: string, sizeKiB: number, command: readonly string[]): string[] {
  const script = `mount -t tmpfs -o size=${sizeKiB}k tmpfs "$0" && exec "$@"`;
  return ['unshare', '--mount', 'sh', '-c', script, folder, ...command];
}

/** The small disk of a process, as seen from another process. */
export function smallDiskOf(pid: number, folder: string) {
  const root = join('/proc', String(pid), 'root', folder);
  const filler = join(root, 'filler');
  return {
    /** The path of a file on the disk. */
    path: (name: string) => join(root, name),
    /** Fills the disk to the last byte. */
    fill() {
      const descriptor = openSync(filler, 'a');
      try {
        for (let size = 4096; size > 0;) {
          try {
            writeSync(descriptor, Buffer.alloc(size));
          } catch (error) {
            if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
            size = Math.floor(size / 2);
          }
        }
      } finally {
        closeSync(descriptor);
      }
    },
    free: () => rmSync(filler),
  };
}
