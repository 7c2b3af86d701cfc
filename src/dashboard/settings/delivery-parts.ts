import type { ListedDelivery } from '../../webhooks/public.ts';
import { tag } from '../view/parts.ts';

const TONES = { PENDING: 'wait', DELIVERED: 'good', FAILED: 'bad' } as const satisfies Record<
  ListedDelivery['state'],
  string
>;

/** The state of a delivery. */
export function deliveryState(state: ListedDelivery['state']) {
  return tag(TONES[state], state);
}

/** What came of an attempt: `200`, or why it failed. */
export function resultText({
  statusCode,
  error,
}: {
  statusCode: number | null;
  error: string | null;
}): string {
  return error ?? String(statusCode ?? '');
}
