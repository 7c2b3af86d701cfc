import type { GatewayExchange } from './adapter.ts';
import type { GatewayCheck } from './check-gateway.ts';
import type { OrderGateway } from './gateways.ts';
import { redactedForRecord } from './redaction.ts';

/** An exchange with a gateway without personal data, and when it ended. */
export interface RecordedExchange extends GatewayExchange {
  at: string;
}

/** What a pilot has found, and each request of it with its answer, in their order. */
export interface GatewayRecord extends OrderGateway {
  linkedAccountId: string;
  checks: GatewayCheck[];
  exchanges: RecordedExchange[];
}

/** The exchange without personal data of buyers. Paths and queries have only ids, times and counts. */
export function recorded({ request, answer, ...rest }: GatewayExchange): RecordedExchange {
  const at = new Date().toISOString();
  return { at, ...rest, request: redactedForRecord(request), answer: redactedForRecord(answer) };
}
