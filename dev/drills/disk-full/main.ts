import { report, requireProved } from '../support/report.ts';
import { runOnDisk } from './run-on-disk.ts';

/** The drill `disk-full`, in a process whose first argument is the folder of its small disk. */
try {
  await runOnDisk(process.argv[2] ?? '');
  requireProved();
  process.exit(0);
} catch (error) {
  report(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exit(1);
}
