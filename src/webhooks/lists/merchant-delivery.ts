import type { Sql } from '../../db/client.ts';
import type { Delivery, DeliveryAttempt } from './delivery-list.ts';
import { deliveryNotFound } from './delivery-list.ts';
import type { OrderOwner } from '../../orders/public.ts';
import type { SentRequest } from '../sending/signed-request.ts';
import { sentRequest } from '../sending/signed-request.ts';

const ATTEMPTS_PER_PAGE = 25;

export interface AttemptSummary extends Omit<DeliveryAttempt, 'url'> {
  attemptId: number;
}

export interface AttemptDetails extends AttemptSummary {
  url: string;
  /** Null when the URL was refused before any connection, so that nothing was sent. */
  request: SentRequest | null;
  /** The first 16 KiB of the response body as UTF-8. Null without a response. */
  answer: string | null;
}

export interface MerchantDelivery extends Omit<Delivery, keyof OrderOwner | 'attempts'> {
  /** True while an attempt is running. */
  isUnderWay: boolean;
  /** True if the buyer's data, and with it the body, was erased. The event cannot be sent again. */
  isErased: boolean;
  /** The exact text that every attempt sends. Empty once it is erased. */
  body: string;
  /** At most 25, the newest first. */
  attempts: AttemptSummary[];
  /** The `before` for older attempts. Null when there are none. */
  olderAttempts: number | null;
}

/**
 * Reads one delivery of a merchant, with its attempts.
 *
 * @param before only attempts that are older than this one
 * @throws DomainError `NOT_FOUND`, also for a delivery of another merchant or environment
 */
export async function findMerchantDelivery(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  deliveryId: string,
  before?: number,
): Promise<MerchantDelivery> {
  const [delivery] = await sql<Omit<MerchantDelivery, 'attempts' | 'olderAttempts'>[]>`
    SELECT d.delivery_id, d.event_id, e.order_number, e.type AS event, d.state, d.created_at,
      d.next_attempt_at, coalesce(d.attempt_until > service_now(), false) AS is_under_way,
      d.is_erased, e.body
    FROM webhook_deliveries d JOIN order_events e USING (event_id)
    WHERE d.delivery_id = ${deliveryId}
      AND d.merchant_id = ${merchantId} AND d.environment = ${environment}`;
  if (!delivery) throw deliveryNotFound(deliveryId);
  const rows = await sql<AttemptSummary[]>`
    SELECT attempt_id, at, kind, status_code, duration_ms, error
    FROM webhook_attempts
    WHERE delivery_id = ${deliveryId} ${before ? sql`AND attempt_id < ${before}` : sql``}
    ORDER BY attempt_id DESC LIMIT ${ATTEMPTS_PER_PAGE + 1}`;
  const attempts = rows.slice(0, ATTEMPTS_PER_PAGE);
  const hasOlder = rows.length > ATTEMPTS_PER_PAGE;
  return {
    ...delivery,
    attempts,
    olderAttempts: hasOlder ? (attempts.at(-1)?.attemptId ?? null) : null,
  };
}

type AttemptRow = AttemptSummary & {
  url: string;
  signature: string | null;
  standardSignature: string | null;
  apiVersion: string | null;
  responseBody: Buffer | null;
};

/**
 * Reads one attempt of a merchant's delivery: the request that was sent, and the answer.
 *
 * @throws DomainError `NOT_FOUND` when the delivery has no such attempt
 */
export async function findAttempt(
  sql: Sql,
  { deliveryId, eventId, event: eventType, body }: MerchantDelivery,
  attemptId: number,
): Promise<AttemptDetails> {
  const [row] = await sql<AttemptRow[]>`
    SELECT attempt_id, at, kind, status_code, duration_ms, error, url,
      encode(signature, 'hex') AS signature,
      encode(standard_signature, 'hex') AS standard_signature, api_version, response_body
    FROM webhook_attempts WHERE delivery_id = ${deliveryId} AND attempt_id = ${attemptId}`;
  if (!row) throw deliveryNotFound(`${deliveryId}, attempt ${attemptId}`);
  const { signature, standardSignature, apiVersion, responseBody, ...attempt } = row;
  const { url, at } = attempt;
  const message = { url, eventType, eventId, body, apiVersion: apiVersion ?? '' };
  const request =
    signature === null ? null : sentRequest({ ...message, signature, standardSignature }, at);
  const answer = attempt.statusCode === null ? null : (responseBody?.toString() ?? '');
  return { ...attempt, request, answer };
}
