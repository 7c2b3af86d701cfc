import { setTimeout as delay } from 'node:timers/promises';
import { runAdmin } from '../../src/main/admin/run.ts';
import type { LoadDeps } from '../load/order.ts';
import { actOfTwo } from '../load/two-operators.ts';

const ACTIVE_MS = 25_000;
const SUSPENDED_MS = 10_000;
const REPEAT_AFTER_MS = 500;

/** A merchant that is suspended again and again. */
export interface Suspensions {
  /** Activates the merchant for good. */
  end(): Promise<void>;
}

/** Begins to suspend a merchant, as an operator does, and to activate it again, as two operators do. */
export function startSuspensions(
  { environment }: Pick<LoadDeps, 'environment'>,
  merchantId: string,
): Suspensions {
  const end = new AbortController();
  const untilEnd = (ms: number) => delay(ms, undefined, { signal: end.signal }).catch(() => {});

  async function suspend(): Promise<void> {
    const args = ['merchant', 'suspend', '--merchant', merchantId, '--reason', 'A complaint'];
    while ((await runAdmin(args, () => environment)).exitCode !== 0) await delay(REPEAT_AFTER_MS);
  }

  async function activate(): Promise<void> {
    const act = actOfTwo(environment, {
      kind: 'merchant.activate',
      subject: merchantId,
      parameters: {},
      reason: 'The complaint is resolved',
    });
    // Refused if an earlier try was carried out and not answered.
    while ((await act()) === 'again') await delay(REPEAT_AFTER_MS);
  }

  async function comeAndGo(): Promise<void> {
    while (!end.signal.aborted) {
      await untilEnd(ACTIVE_MS);
      await suspend();
      await untilEnd(SUSPENDED_MS);
      await activate();
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
