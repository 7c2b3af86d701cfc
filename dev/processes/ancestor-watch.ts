import { describeProcess } from './process-table.ts';

/**
 * Notices that npm, which ran us, is gone.
 *
 * Killed alone, npm does not pass the signal on. Some shells stay between npm and us (`sh -c`),
 * then it is the shell's parent that counts. A process whose parent died gets another parent: that
 * is what shows, and it cannot be confused by a reused process id.
 *
 * @param onGone called once.
 * @returns a function that ends the watch.
 */
export function watchAncestors(onGone: () => void, intervalMs = 500): () => void {
  const parent = process.ppid;
  const description = describeProcess(parent);
  const isShell = /^(\S*\/)?(ba|da|z|k|a)?sh (-\S+ )*-\S*c /.test(description?.commandLine ?? '');
  const grandparent = isShell ? description?.parentPid : undefined;
  const timer = setInterval(() => {
    const gone =
      process.ppid !== parent ||
      (grandparent !== undefined && describeProcess(parent)?.parentPid !== grandparent);
    if (!gone) return;
    clearInterval(timer);
    onGone();
  }, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}
