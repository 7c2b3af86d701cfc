import { GatewayRefused } from '../gateway.ts';
import { gatewayError } from './client.ts';
import type { Answer } from './client.ts';

interface MoneyCall<Made> {
  operation: string;
  /** Looks for what this very operation has made before. */
  find: () => Promise<Made | undefined>;
  /** Makes it. */
  make: () => Promise<Answer<Made | undefined>>;
}

/**
 * Moves money once: looks first, so that a repeated call finds what an earlier one made; then
 * makes it; and looks again whatever the failure. After an unknown outcome it may be there, and
 * after a refusal too: the "more than was captured" of a repeat that an earlier, slower try beat.
 *
 * @throws GatewayUnavailable or GatewayRefused when it is not there at the end
 */
export async function settle<Made>({ operation, find, make }: MoneyCall<Made>): Promise<Made> {
  const before = await find();
  if (before !== undefined) return before;
  const answer = await make();
  if (answer.kind === 'done' && answer.value !== undefined) return answer.value;
  const after = answer.kind === 'not_sent' ? undefined : await find();
  if (after !== undefined) return after;
  if (answer.kind !== 'done') throw gatewayError(operation, answer);
  throw gatewayError(operation, { kind: 'unknown', detail: 'the answer holds no result' });
}

/** The same key with another amount is a mistake of ours, which must not pass for a repeat. */
export function assertSameAmount(operation: string, foundPaise: number, askedPaise: number): void {
  if (foundPaise === askedPaise) return;
  const description = `${foundPaise} paise were moved under this key before, not ${askedPaise}`;
  throw new GatewayRefused(operation, 'IDEMPOTENCY_KEY_REUSED', description);
}
