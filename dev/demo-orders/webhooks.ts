import { randomInt } from 'node:crypto';
import type { Sql } from '../../src/db/client.ts';
import { WEBHOOK_RETRY_DELAYS_MS } from '../../src/domain/webhook-retries.ts';
import { API_VERSION } from '../../src/http/versions.ts';
import type { DeliveryState } from '../../src/webhooks/schedule/attempt-log.ts';
import { describeStatus } from '../../src/webhooks/sending/faults.ts';
import { signedRequest } from '../../src/webhooks/sending/signed-request.ts';

/** The endpoint of the demo merchant, at a name that never exists (RFC 2606). */
export const DEMO_WEBHOOK_URL = 'https://hooks.demo-bazaar.example/orders';

const ENDPOINT_ERROR = 503;

/** What became of the deliveries of the past. */
interface Endpoint {
  merchantId: string;
  /** In clear text. */
  secret: string;
  failsSinceMs: number;
  nowMs: number;
}

interface DeliveryRow {
  deliveryId: string;
  eventId: string;
  type: string;
  at: Date;
  body: string;
}

/** Writes the attempts of every delivery until now: the endpoint accepted each, then none. */
export async function writeAttempts(sql: Sql, endpoint: Endpoint): Promise<void> {
  const deliveries = await sql<DeliveryRow[]>`
    SELECT delivery_id, event_id, e.type, e.at, e.body
    FROM webhook_deliveries JOIN order_events e USING (event_id)
    WHERE merchant_id = ${endpoint.merchantId} ORDER BY e.at`;
  const ends = deliveries.map((delivery) => ({ delivery, ...endOf(delivery, endpoint) }));
  const attempts = ends.flatMap(({ delivery, attemptedMs, isAccepted }) =>
    attemptedMs.map((atMs) => attemptOf(delivery, endpoint, { atMs, isAccepted })),
  );
  await sql`INSERT INTO webhook_attempts ${sql(attempts)}`;
  await writeEnds(sql, ends);
  // The merchant was told when it began: no mail is due.
  const toldAt = new Date(endpoint.failsSinceMs);
  await sql`
    INSERT INTO webhook_warnings (merchant_id, environment, warned_at, mailed_at)
    VALUES (${endpoint.merchantId}, 'sandbox', ${toldAt}, ${toldAt})`;
}

/** The scheduled attempts of a delivery so far, and its state after them. */
function endOf({ at }: DeliveryRow, { failsSinceMs, nowMs }: Endpoint) {
  const firstMs = at.getTime() + randomInt(40, 400);
  const isAccepted = firstMs < failsSinceMs;
  const dueMs = isAccepted ? [firstMs] : [...dueAfter(firstMs)];
  const attemptedMs = dueMs.filter((ms) => ms <= nowMs);
  const nextMs = dueMs[attemptedMs.length];
  const failed: DeliveryState = nextMs === undefined ? 'FAILED' : 'PENDING';
  return { attemptedMs, nextMs, isAccepted, state: isAccepted ? ('DELIVERED' as const) : failed };
}

function* dueAfter(firstMs: number): Generator<number> {
  let atMs = firstMs;
  yield atMs;
  for (const delayMs of WEBHOOK_RETRY_DELAYS_MS) yield (atMs += delayMs);
}

function attemptOf(
  { deliveryId, eventId, type: eventType, body }: DeliveryRow,
  { merchantId, secret }: Endpoint,
  { atMs, isAccepted }: { atMs: number; isAccepted: boolean },
) {
  const at = new Date(atMs);
  const event = { eventType, eventId, body, secret, url: DEMO_WEBHOOK_URL };
  const message = { ...event, environment: 'sandbox', apiVersion: API_VERSION } as const;
  const { signature, standardSignature } = signedRequest(message, at);
  return {
    deliveryId,
    merchantId,
    environment: 'sandbox',
    kind: 'scheduled',
    at,
    url: DEMO_WEBHOOK_URL,
    signature: Buffer.from(signature, 'hex'),
    standardSignature: standardSignature && Buffer.from(standardSignature, 'hex'),
    apiVersion: API_VERSION,
    statusCode: isAccepted ? 200 : ENDPOINT_ERROR,
    durationMs: isAccepted ? randomInt(60, 240) : randomInt(900, 2400),
    responseBody: Buffer.from(isAccepted ? 'ok' : 'Service Unavailable'),
    error: isAccepted ? null : describeStatus(ENDPOINT_ERROR),
  };
}

/** What is PENDING belongs to orders that are under way: they are woken, and send it. */
async function writeEnds(
  sql: Sql,
  ends: ({ delivery: DeliveryRow } & ReturnType<typeof endOf>)[],
): Promise<void> {
  const rows = ends.map(({ delivery, attemptedMs, nextMs, state }) => ({
    id: delivery.deliveryId,
    state,
    failures: state === 'DELIVERED' ? 0 : attemptedMs.length,
    next: nextMs === undefined ? null : new Date(nextMs).toISOString(),
    settled: state === 'PENDING' ? null : new Date(attemptedMs.at(-1) ?? 0).toISOString(),
  }));
  await sql`
    UPDATE webhook_deliveries d SET state = ended.state, next_attempt_at = ended.next,
      failed_attempts = ended.failures, settled_at = ended.settled, created_at = e.at, wake_at = NULL
    FROM order_events e, jsonb_to_recordset(${sql.json(rows)}) AS ended
      (id text, state delivery_state, failures smallint, next timestamptz, settled timestamptz)
    WHERE d.delivery_id = ended.id AND e.event_id = d.event_id`;
}
