import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder that only this user can enter; removed with its contents after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'merchant-orders-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
