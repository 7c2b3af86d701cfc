import { describeProcess } from './process-table.ts';

/**
 * Detects that npm, which started this process, has ended.
 *
 * npm does not forward the signal that kills it. Some shells (`sh -c`) stay between npm and this
 * process; then the shell's parent is npm. A process whose parent died gets a new parent id, which
 * this checks, so a reused process id cannot mislead it.
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
