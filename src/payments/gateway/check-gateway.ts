import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PaymentGateway } from './gateway.ts';
import { GatewayNotUnderstood, GatewayRefused, GatewayUnavailable } from './gateway.ts';

export const AMOUNT_PAISE = 500;
/** Longer than the shortest session of every gateway. */
export const SESSION_MS = 16 * 60_000;

/**
 * Checks that a gateway has everything that the service needs, without moving money: it opens a payment session
 * without a buyer, and closes it again. Checks that depend on a failed one are left out.
 *
 * @param linkedAccountId a merchant's account; without it, that check is left out
 */
export async function checkGateway(
  gateway: PaymentGateway,
  linkedAccountId: string | undefined,
  onCheck: OnCheck = () => undefined,
): Promise<GatewayCheck[]> {
  const checks = createChecks(onCheck);
  const chargebacks = await checks.ask({
    what: 'keys, and the list of chargebacks',
    remedy:
      'Check the base address, KEY_ID and KEY_SECRET of the settings, and that the gateway is reachable from here.',
    ask: () => gateway.listNewestChargebacks(),
    textOf: ({ length }) => `${length} chargebacks`,
  });
  if (chargebacks) {
    await checkSessions(checks, gateway);
    if (linkedAccountId !== undefined) await checkAccount(checks, gateway, linkedAccountId);
  }
  return checks.checks;
}

async function checkSessions({ ask }: Checks, gateway: PaymentGateway): Promise<void> {
  await ask({
    what: 'the list of payment sessions',
    remedy: 'Ask the gateway to enable payments by QR code.',
    ask: () => gateway.listSessions(Date.now() - SESSION_MS),
    textOf: ({ length }) => `${length} sessions within 16 minutes`,
  });
  const opened = await ask({
    what: 'a payment session with its UPI link',
    remedy: 'Ask the gateway to enable QR codes, and image_content for QR codes.',
    ask: () =>
      gateway.openSession({
        orderNumber: 'GATEWAY-CHECK',
        sessionId: `check_${randomUUID()}`,
        amountPaise: AMOUNT_PAISE,
        expiresAtMs: Date.now() + SESSION_MS,
        description: 'A check of the payment gateway: not to be paid',
      }),
    textOf: ({ gatewaySessionId }) => gatewaySessionId,
  });
  if (!opened) return;
  const { gatewaySessionId } = opened;
  await ask({
    what: 'the end of that session, unpaid',
    remedy: `Close ${gatewaySessionId} in the dashboard of the gateway; a merchant's cancel would answer 502.`,
    ask: () => gateway.closeSession(gatewaySessionId),
    textOf: ({ length }) => `closed, ${length} payments`,
  });
}

async function checkAccount(
  { ask, fail }: Checks,
  gateway: PaymentGateway,
  linkedAccountId: string,
): Promise<void> {
  const what = `the linked account ${linkedAccountId}`;
  const found = await ask({
    what,
    remedy:
      'Copy the id from the dashboard of the gateway, and ask the gateway to enable transfers to linked accounts.',
    ask: () => gateway.fetchLinkedAccount(linkedAccountId),
    textOf: ({ state }) => state,
  });
  if (!found) return;
  const { state, transfersFromMs } = found;
  if (state === 'waiting' || state === 'suspended') {
    const remedy =
      'Complete the verification of the account in the dashboard of the gateway: until then it receives no transfers.';
    fail(`${what}: transfers`, state, remedy);
  } else if (transfersFromMs > Date.now()) {
    const remedy = 'Wait: the gateway makes no transfers to a new account.';
    fail(`${what}: transfers`, `from ${new Date(transfersFromMs).toISOString()}`, remedy);
  }
}

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
