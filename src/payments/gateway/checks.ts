import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayNotUnderstood, GatewayRefused, GatewayUnavailable } from './gateway.ts';

/** A requirement of the service on a gateway, and whether it is met. */
export interface GatewayCheck {
  what: string;
  isOk: boolean;
  /** What was found, or the gateway's reason. */
  found: string;
  /** What an operator does about it. Null if it is met. */
  remedy: string | null;
}

/** The answer of the gateway is not what the service needs. The message says what was found. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed';
}

const FAILURES = [GatewayRefused, GatewayUnavailable, CheckFailed];

/** A question to the gateway, and how its answer is described. */
export interface Question<Found> {
  what: string;
  remedy: string;
  ask: () => Promise<Found>;
  textOf: (found: Found) => string;
}

export type OnCheck = (check: GatewayCheck) => void;

export function createChecks(onCheck: OnCheck) {
  const checks: GatewayCheck[] = [];
  const add = (check: GatewayCheck) => {
    checks.push(check);
    onCheck(check);
  };
  const fail = (what: string, found: string, remedy: string) =>
    add({ what, isOk: false, found, remedy });
  return {
    checks,
    fail,
    /** @returns undefined if the check has failed */
    async ask<Found>(question: Question<Found>): Promise<Found | undefined> {
      const { what, remedy, ask, textOf } = question;
      try {
        const found = await ask();
        add({ what, isOk: true, found: textOf(found), remedy: null });
        return found;
      } catch (error) {
        if (!FAILURES.some((kind) => error instanceof kind)) throw error;
        fail(what, (error as Error).message, remedy);
        return undefined;
      }
    },
  };
}
export type Checks = ReturnType<typeof createChecks>;

/**
 * Repeats a question, even if the gateway was unavailable, until the answer is as wanted or the time is over.
 *
 * @returns the last answer
 * @throws GatewayUnavailable after the time; GatewayRefused and GatewayNotUnderstood immediately
 */
export async function repeated<Answer>(
  ask: () => Promise<Answer>,
  isWanted: (answer: Answer) => boolean,
  withinMs: number,
  intervalMs: number,
): Promise<Answer> {
  const endsAtMs = Date.now() + withinMs;
  for (;;) {
    const isLast = Date.now() >= endsAtMs;
    try {
      const answer = await ask();
      if (isLast || isWanted(answer)) return answer;
    } catch (error) {
      const mayRepeat =
        error instanceof GatewayUnavailable && !(error instanceof GatewayNotUnderstood);
      if (isLast || !mayRepeat) throw error;
    }
    await sleep(intervalMs);
  }
}
