import type { TestContext } from 'vitest';
import { canMount } from '../../dev/files/small-disk.ts';

/** Skips a test, with the reason, if this user or container may not mount a disk. */
export function requireMounting({ skip }: Pick<TestContext, 'skip'>): void {
  skip(!canMount(), 'No tmpfs can be mounted here: this test needs root and CAP_SYS_ADMIN');
}
