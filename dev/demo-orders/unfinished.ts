import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import {
  demoMerchantSchema,
  readDemoMerchant,
  simulatorJournal,
  writeDemoMerchant,
} from '../dev-facts.ts';
import { readPrivateJson, writePrivateFile } from '../files/private-file.ts';

const unfinishedSchema = z.object({ merchant: demoMerchantSchema, journalLine: z.string() });

/** What is still to be written to files when the transaction of the demo orders has committed. */
export type Unfinished = z.infer<typeof unfinishedSchema>;

const unfinishedFile = (dataDir: string) => join(dataDir, 'demo-orders.json');

/**
 * Whether a run is the first one on its data directory, or the first one was killed before it had finished. The
 * simulator must not run yet: its journal is written.
 */
export function isFirstRun(dataDir: string): boolean {
  const isNew = !readDemoMerchant(dataDir) && !existsSync(simulatorJournal(dataDir));
  return isNew || existsSync(unfinishedFile(dataDir));
}

/** Kept before the transaction commits, so that a killed run can be finished. */
export function keepUnfinished(dataDir: string, unfinished: Unfinished): void {
  writePrivateFile(unfinishedFile(dataDir), JSON.stringify(unfinished));
}

/** @returns undefined unless a run was killed */
export function readUnfinished(dataDir: string): Unfinished | undefined {
  const remedy = 'choose another DATA_DIR to begin anew';
  return readPrivateJson(unfinishedFile(dataDir), unfinishedSchema, remedy);
}

/** Writes the files of a transaction that has committed; a repeat writes the same. */
export function finish(dataDir: string, { merchant, journalLine }: Unfinished): void {
  writePrivateFile(simulatorJournal(dataDir), journalLine);
  writeDemoMerchant(dataDir, merchant);
  rmSync(unfinishedFile(dataDir));
}
