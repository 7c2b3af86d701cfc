import type { GatewayExchange } from './adapter.ts';
import type { GatewayCheck } from './check-gateway.ts';
import type { GatewayRef } from './gateways.ts';
import { redactedForRecord } from './redaction.ts';

/** An exchange with a gateway without personal data, and when it ended. */
export interface RecordedExchange extends GatewayExchange {
  at: string;
}

/** The results of a pilot, and each of its requests with the answer, in order. */
export interface GatewayRecord extends GatewayRef {
  linkedAccountId: string;
  checks: GatewayCheck[];
  exchanges: RecordedExchange[];
}

/** Removes personal data of buyers. Paths and queries contain only ids, times and counts. */
export function recorded({ request, answer, ...rest }: GatewayExchange): RecordedExchange {
  const at = new Date().toISOString();
  return { at, ...rest, request: redactedForRecord(request), answer: redactedForRecord(answer) };
}
