import type { Logger } from 'pino';
import { ulid } from 'ulid';
import type { Environment, EventType } from '../../domain/index.ts';
import { DomainError, EVENT_TYPES } from '../../domain/index.ts';
import { admitSend } from '../../merchants/public.ts';
import { exampleEventBody, unusualTestBody } from '../../orders/public.ts';
import { assertClockAgrees } from '../sending/clock.ts';
import { webhookSecretContext } from '../schedule/attempt.ts';
import type { EndpointDeps } from './endpoints.ts';
import { endpointNotConfigured } from './endpoints.ts';
import type { WebhookSender } from '../sending/sender.ts';
import { signedRequest } from '../sending/signed-request.ts';

/**
 * Not one of the nine event types. A receiver that answers 200 to an unknown type, as it should, does nothing about
 * it, in production too.
 */
const NEUTRAL = 'TEST';

const NOT_APPLIED = 'Test events can be sent once you have submitted your application';

export type TestEventType = typeof NEUTRAL | EventType;

/** The types of test events in an environment. Production has only TEST, because receivers act on the nine events. */
export function testEventTypesOf(environment: Environment): readonly TestEventType[] {
  return environment === 'production' ? [NEUTRAL] : [NEUTRAL, ...EVENT_TYPES];
}

export interface TestEventDeps extends EndpointDeps {
  sender: WebhookSender;
  apiVersion: string;
  log: Logger;
}

export interface TestEventResult {
  eventId: string;
  url: string;
  delivered: boolean;
  statusCode: number | null;
  durationMs: number;
  error: string | null;
}

/**
 * Sends one webhook about an order that does not exist, with the same checks and signature as any other. It makes
 * one attempt and stores no delivery.
 *
 * @throws DomainError `NOT_FOUND`, `INVALID_STATE` when no URL is configured or the merchant has never applied,
 * `BAD_REQUEST` for one of the nine events in production
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function sendTestEvent(
  deps: TestEventDeps,
  merchantId: string,
  environment: Environment,
  eventType: TestEventType = NEUTRAL,
): Promise<TestEventResult> {
  if (!testEventTypesOf(environment).includes(eventType)) {
    const message = `In ${environment}, only ${NEUTRAL} can be sent: your server acts on ${eventType}`;
    throw new DomainError('BAD_REQUEST', message);
  }
  await admitSend(deps.sql, merchantId, 'test_event');
  const { url, sealed, databaseNow } = await readEndpoint(deps, merchantId, environment, eventType);
  await assertClockAgrees(databaseNow, deps);
  const at = new Date();
  const eventId = `evt_${ulid()}`;
  const message = {
    url,
    environment,
    secret: deps.secretBox.open(sealed, webhookSecretContext(merchantId, environment)),
    eventType,
    eventId,
    body: bodyOf(eventType, { environment, eventId, at }),
    apiVersion: deps.apiVersion,
  };
  const result = await deps.sender.send(signedRequest(message, at));
  const { statusCode, durationMs, error } = result;
  return { eventId, url, delivered: error === null, statusCode, durationMs, error };
}

/**
 * Reads the endpoint and writes an audit row for the test event. For a merchant who has only signed up, which anyone
 * can, the service calls no URL. A merchant that an operator has approved need not have applied.
 */
async function readEndpoint(
  { sql, actor }: TestEventDeps,
  merchantId: string,
  environment: Environment,
  eventType: TestEventType,
): Promise<{ url: string; sealed: string; databaseNow: Date }> {
  const [row] = await sql<{ mayCall: boolean; url: string; sealed: string; databaseNow: Date }[]>`
    WITH endpoint AS (
      SELECT e.*, m.submissions > 0 OR m.status IN ('APPROVED', 'SUSPENDED') AS may_call
      FROM shared.merchant_environments e JOIN shared.merchants m USING (merchant_id)
      WHERE merchant_id = ${merchantId} AND environment = ${environment}
        AND webhook_url IS NOT NULL AND webhook_secret_sealed IS NOT NULL
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, details)
      SELECT ${actor.name}, ${actor.address}, 'webhook.test', merchant_id, ${sql.json({ environment, eventType })}
      FROM endpoint WHERE may_call
    )
    SELECT may_call, webhook_url AS url, webhook_secret_sealed AS sealed,
      clock_timestamp() AS database_now
    FROM endpoint`;
  if (row?.mayCall === false) throw new DomainError('INVALID_STATE', NOT_APPLIED);
  if (row) return row;
  throw await endpointNotConfigured(sql, merchantId, environment);
}

/** TEST has the shape of every webhook, so that the merchant's parser accepts it. Sequences start at 1. */
function bodyOf(
  eventType: TestEventType,
  event: { environment: Environment; eventId: string; at: Date },
): string {
  if (eventType !== NEUTRAL) return exampleEventBody(eventType, event);
  return unusualTestBody(event);
}
