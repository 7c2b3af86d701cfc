import type { ManualAttemptResult } from '../contracts/activities.ts';
import type { Actor } from '../db/actor.ts';
import type { Sql } from '../db/client.ts';
import { DomainError } from '../domain/index.ts';
import type { DeliveryRetries } from '../temporal/delivery-retries.ts';
import type { DeliveryFilter } from './delivery-list.ts';
import { deliveryErased, deliveryNotFound } from './delivery-list.ts';
import { findFailing } from './failing-deliveries.ts';

/** Longer than an attempt's 15 s; `admin` does not wait longer when no worker runs. */
const WAIT_MS = 20_000;
/** The sender's limit of connections to one origin, so that no retry waits for a slot there. */
const CONCURRENT_RETRIES = 8;

/** What a manual retry needs; `actor` is recorded in the audit log. */
export interface ManualRetryDeps {
  sql: Sql;
  retries: DeliveryRetries;
  actor: Actor;
}

/** `started`: under way or waiting for a worker, in a workflow that completes it. */
export type RetryOutcome =
  | Extract<ManualAttemptResult, { outcome: 'delivered' | 'refused' }>
  | { outcome: 'started' };

const NO_URL = 'No webhook URL is configured: set one, then retry';

/**
 * Makes one attempt of a delivery now, in any state, in a separate workflow.
 *
 * @param waitMs how long to wait for its result; the attempt continues after that
 * @throws DomainError `NOT_FOUND`; `INVALID_STATE` while an attempt of the delivery is under way,
 *   when no webhook URL is configured, or when the event is erased
 */
export async function retryDelivery(
  deps: ManualRetryDeps,
  deliveryId: string,
  waitMs = WAIT_MS,
): Promise<RetryOutcome> {
  const { isRunning, hasUrl, isErased } = await auditRetry(deps, deliveryId);
  if (isErased) throw deliveryErased(deliveryId);
  if (isRunning) throw attemptUnderWay(deliveryId);
  if (!hasUrl) throw new DomainError('INVALID_STATE', NO_URL);
  const result = await deps.retries.retry(deliveryId, waitMs);
  if (result.outcome === 'running') throw attemptUnderWay(deliveryId);
  if (result.outcome === 'no_url') throw new DomainError('INVALID_STATE', NO_URL);
  return result;
}

/** The result of one delivery of {@link retryFailedSince}. */
export interface RetriedDelivery {
  deliveryId: string;
  outcome: RetryOutcome['outcome'] | 'not_retried';
  reason: string | null;
}

/**
 * Retries every delivery that became FAILED at or after `since`, or that is PENDING with a failed
 * attempt since then, a few at a time. If the process ends, the next call finds the rest.
 *
 * @throws Error when Temporal or the database cannot be reached
 */
export async function retryFailedSince(
  deps: ManualRetryDeps,
  since: Date,
  filter: Pick<DeliveryFilter, 'merchantId' | 'environment'>,
): Promise<RetriedDelivery[]> {
  const deliveryIds = await findFailing(deps.sql, since, filter);
  const retried: RetriedDelivery[] = [];
  const queue = deliveryIds.values();
  const retryQueued = async () => {
    for (const deliveryId of queue) retried.push(await retryOneOfMany(deps, deliveryId));
  };
  await Promise.all(Array.from({ length: CONCURRENT_RETRIES }, retryQueued));
  return retried;
}

async function retryOneOfMany(deps: ManualRetryDeps, deliveryId: string): Promise<RetriedDelivery> {
  try {
    const result = await retryDelivery(deps, deliveryId);
    const reason = result.outcome === 'refused' ? result.reason : null;
    return { deliveryId, outcome: result.outcome, reason };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { deliveryId, outcome: 'not_retried', reason: error.message };
  }
}

/** Adds an audit row, unless the delivery cannot be retried now. */
async function auditRetry(
  { sql, actor }: ManualRetryDeps,
  deliveryId: string,
): Promise<{ isRunning: boolean; hasUrl: boolean; isErased: boolean }> {
  const [row] = await sql<{ isRunning: boolean; hasUrl: boolean; isErased: boolean }[]>`
    WITH delivery AS (
      SELECT d.merchant_id, d.is_erased, coalesce(d.attempt_until > service_now(), false) AS is_running,
        e.webhook_url IS NOT NULL AS has_url
      FROM webhook_deliveries d
      LEFT JOIN merchant_environments e USING (merchant_id, environment)
      WHERE d.delivery_id = ${deliveryId}
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject)
      SELECT ${actor.name}, ${actor.address}, 'delivery.retry', merchant_id, ${deliveryId}
      FROM delivery WHERE has_url AND NOT is_running AND NOT is_erased
    )
    SELECT is_running, has_url, is_erased FROM delivery`;
  if (!row) throw deliveryNotFound(deliveryId);
  return row;
}

function attemptUnderWay(deliveryId: string): DomainError {
  return new DomainError('INVALID_STATE', `An attempt of ${deliveryId} is under way`);
}
