import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayRefused, INSUFFICIENT_BALANCE } from '../gateway/gateway.ts';
import { gatewayError } from './client.ts';
import type { Answer } from './client.ts';

interface MoneyCall<Made> {
  operation: string;
  /** Finds what an earlier call with the same key made. */
  find: () => Promise<Made | undefined>;
  make: () => Promise<Answer<Made | undefined>>;
}

/**
 * A list may lack a new object for a while: no page of the documents promises that lists are up to date. This is
 * longer than the lag of the simulator, which is at most 2 s (`listsLag`).
 */
const LIST_LAG_MS = 2500;

/** Searches a list, and again after its lag if it finds nothing. @throws what `find` throws */
export async function findListed<Found>(
  find: () => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const found = await find();
  if (found !== undefined) return found;
  await sleep(LIST_LAG_MS);
  return find();
}

/**
 * Moves money once. It searches first, so that a repeat finds what an earlier call made. Then it sends the request,
 * and searches again if that fails: after an unknown outcome, and also after a refusal, because an earlier request
 * may have completed without being listed yet, so that the repeat asks for more than is left.
 *
 * @throws GatewayUnavailable or GatewayRefused when the last search finds nothing
 */
export async function moveOnce<Made>({ operation, find, make }: MoneyCall<Made>): Promise<Made> {
  const before = await find();
  if (before !== undefined) return before;
  const answer = await make();
  if (answer.kind === 'done' && answer.value !== undefined) return answer.value;
  const after = answer.kind === 'not_sent' ? undefined : await findListed(find);
  if (after !== undefined) return after;
  if (answer.kind !== 'done') throw gatewayError(operation, answer);
  throw gatewayError(operation, { kind: 'unknown', detail: 'the response contains no result' });
}

/**
 * Matches the refusals of a transfer (api/payments/route/create-transfers-payments) and of a refund
 * (payments/refunds/errors) for which the platform's balance is too small.
 */
const NO_BALANCE = /insufficient balance|not have (?:enough|sufficient) balance/i;

/** Replaces the code of a refusal by the port's if the balance is too small. */
export function balanceNamed<Value>(answer: Answer<Value>): Answer<Value> {
  const lacksBalance = answer.kind === 'refused' && NO_BALANCE.test(answer.description);
  return lacksBalance ? { ...answer, code: INSUFFICIENT_BALANCE } : answer;
}

/** @throws GatewayRefused when the key was used with another amount, which is a fault of this service */
export function assertSameAmount(operation: string, foundPaise: number, askedPaise: number): void {
  if (foundPaise === askedPaise) return;
  const description = `${foundPaise} paise were moved under this key before, not ${askedPaise}`;
  throw new GatewayRefused(operation, 'IDEMPOTENCY_KEY_REUSED', description);
}
