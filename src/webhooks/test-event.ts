import type { Logger } from 'pino';
import { ulid } from 'ulid';
import type { Environment } from '../domain/index.ts';
import { assertClockAgrees } from './clock.ts';
import { webhookSecretContext } from './deliver.ts';
import type { EndpointDeps } from './endpoints.ts';
import { endpointNotConfigured } from './endpoints.ts';
import type { WebhookSender } from './sender.ts';
import { signedRequest } from './signed-request.ts';

/**
 * Not one of the nine event types: a receiver that answers 200 to an unknown type, as it should,
 * takes no action on it, in production too.
 */
const TEST_EVENT_TYPE = 'TEST';

/** What sending a test event needs. */
export interface TestEventDeps extends EndpointDeps {
  sender: WebhookSender;
  apiVersion: string;
  log: Logger;
}

/** The receiver's response to the test event. */
export interface TestEventResult {
  eventId: string;
  url: string;
  delivered: boolean;
  statusCode: number | null;
  durationMs: number;
  error: string | null;
}

/**
 * Sends one webhook about an order that does not exist, with the same checks and signature as any
 * other. It creates no delivery: one attempt, whose result is only returned.
 *
 * @throws DomainError `NOT_FOUND`, `INVALID_STATE` when no URL is configured
 */
export async function sendTestEvent(
  deps: TestEventDeps,
  merchantId: string,
  environment: Environment,
): Promise<TestEventResult> {
  const { url, sealed, databaseNow } = await readEndpoint(deps, merchantId, environment);
  await assertClockAgrees(databaseNow, deps);
  const at = new Date();
  const eventId = `evt_${ulid()}`;
  const message = {
    url,
    environment,
    secret: deps.secretBox.open(sealed, webhookSecretContext(merchantId, environment)),
    eventType: TEST_EVENT_TYPE,
    eventId,
    body: testBody(environment, eventId, at),
    apiVersion: deps.apiVersion,
  };
  const result = await deps.sender.send(signedRequest(message, at));
  const { statusCode, durationMs, error } = result;
  return { eventId, url, delivered: error === null, statusCode, durationMs, error };
}

/** Reads the endpoint and adds an audit row for the test event. */
async function readEndpoint(
  { sql, actor }: TestEventDeps,
  merchantId: string,
  environment: Environment,
): Promise<{ url: string; sealed: string; databaseNow: Date }> {
  const [row] = await sql<{ url: string; sealed: string; databaseNow: Date }[]>`
    WITH endpoint AS (
      SELECT * FROM merchant_environments
      WHERE merchant_id = ${merchantId} AND environment = ${environment}
        AND webhook_url IS NOT NULL AND webhook_secret_sealed IS NOT NULL
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, details)
      SELECT ${actor.name}, ${actor.address}, 'webhook.test', merchant_id, ${sql.json({ environment })} FROM endpoint
    )
    SELECT webhook_url AS url, webhook_secret_sealed AS sealed,
      clock_timestamp() AS database_now
    FROM endpoint`;
  if (row) return row;
  throw await endpointNotConfigured(sql, merchantId, environment);
}

/** The same shape as every webhook, so that the merchant's parser accepts it; sequences start at 1. */
function testBody(environment: Environment, eventId: string, at: Date): string {
  const timestamp = at.toISOString();
  const data = {
    order_number: `ORD${'0'.repeat(26)}`,
    amount: 499.5,
    currency: 'INR',
    status: 'ACCEPTED',
    dispute_count: 0,
    buyer: { email: 'buyer@example.com', name: 'Test Buyer', phone: '+910000000000' },
    description: 'A test of your webhook URL: this order does not exist',
    payment_url: 'https://example.com/pay/test',
    payment_link_expires_at: timestamp,
    completes_at: null,
    dispute: null,
    refund: null,
    payment: null,
    cancellation: null,
    created_at: timestamp,
    updated_at: timestamp,
  };
  const event = { event: TEST_EVENT_TYPE, event_id: eventId, sequence: 0, timestamp, environment };
  return JSON.stringify({ ...event, data });
}
