import { setTimeout as delay } from 'node:timers/promises';
import { runAdmin } from '../../src/main/admin/run.ts';
import type { LoadDeps } from '../load/order.ts';

const ACTIVE_MS = 25_000;
const SUSPENDED_MS = 10_000;
const REPEAT_AFTER_MS = 500;

/** A merchant that is suspended again and again. */
export interface Suspensions {
  /** Activates the merchant for good. */
  end(): Promise<void>;
}

/** Begins to suspend a merchant and to activate it again, as operators do with the command line. */
export function startSuspensions(
  { environment }: Pick<LoadDeps, 'environment'>,
  merchantId: string,
): Suspensions {
  const end = new AbortController();
  const untilEnd = (ms: number) => delay(ms, undefined, { signal: end.signal }).catch(() => {});

  async function set(wanted: 'APPROVED' | 'SUSPENDED'): Promise<void> {
    const change = wanted === 'APPROVED' ? ['activate'] : ['suspend', '--reason', 'A complaint'];
    const args = ['merchant', ...change, '--merchant', merchantId];
    for (;;) {
      const { exitCode, stderr } = await runAdmin(args, () => environment);
      // Refused if an earlier try was carried out and not answered.
      if (exitCode === 0 || stderr.includes(`and is ${wanted}`)) return;
      await delay(REPEAT_AFTER_MS);
    }
  }

  async function comeAndGo(): Promise<void> {
    while (!end.signal.aborted) {
      await untilEnd(ACTIVE_MS);
      await set('SUSPENDED');
      await untilEnd(SUSPENDED_MS);
      await set('APPROVED');
    }
  }

  const ended = comeAndGo();
  return {
    async end() {
      end.abort();
      await ended;
    },
  };
}
