import type { Drill } from './cluster.ts';
import { report } from './report.ts';

/** The output of a command on one line. */
export const onOneLine = (printed: string) =>
  printed
    .split('\n')
    .map((line) => line.trim().replaceAll(/ {2,}/g, ' '))
    .filter((line) => line !== '')
    .join('; ');

/** Runs `admin order recover --all --since TIME`, and prints what it found. */
export async function recoverAll(drill: Drill, sinceMs: number): Promise<void> {
  const since = new Date(sinceMs).toISOString();
  const printed = await drill.admin('order', 'recover', '--all', '--since', since);
  report(`order recover --all: ${onOneLine(printed)}`);
}
