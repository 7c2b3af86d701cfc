import { existsSync } from 'node:fs';
import { z } from 'zod';
import { demoMerchantSchema, keptMerchant, simulatorJournal } from '../dev-facts.ts';
import { privateJson, writePrivateFile } from '../files/private-file.ts';

const schema = z.object({ merchant: demoMerchantSchema, journalLine: z.string() });

/**
 * What is still to be written to files when the transaction of the demo orders has committed. It is kept before the
 * commit, so that a killed run can be finished.
 */
export const unfinished = privateJson(
  'demo-orders.json',
  schema,
  'choose another DATA_DIR to begin anew',
);

/**
 * Whether a run is the first one on its data directory, or the first one was killed before it had finished. The
 * simulator must not run yet: its journal is written.
 */
export function isFirstRun(dataDir: string): boolean {
  const isNew = !keptMerchant.read(dataDir) && !existsSync(simulatorJournal(dataDir));
  return isNew || unfinished.read(dataDir) !== undefined;
}

/** Writes the files of a transaction that has committed; a repeat writes the same. */
export function finish(dataDir: string, { merchant, journalLine }: z.infer<typeof schema>): void {
  writePrivateFile(simulatorJournal(dataDir), journalLine);
  keptMerchant.write(dataDir, merchant);
  unfinished.remove(dataDir);
}
