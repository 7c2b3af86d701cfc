import type { Logger } from 'pino';
import type postgres from 'postgres';
import { ulid } from 'ulid';
import type { Actor } from '../../db/actor.ts';
import type { Sql } from '../../db/client.ts';
import { DomainError, EVENT_TYPES } from '../../domain/index.ts';
import { admitSend } from '../../merchants/public.ts';
import type { DeliveryRetries } from '../../temporal/delivery-retries.ts';
import { deliveryErased, deliveryNotFound } from '../lists/delivery-list.ts';
import type { OrderOwner } from '../../orders/public.ts';
import { endpointNotConfigured } from '../endpoints/endpoints.ts';

/** The most deliveries that can be chosen one by one. */
export const MAX_SELECTED = 100;
/** The most deliveries of one resend. */
const MAX_RESENT = 10_000;

/** `actor` is the name that the audit log records. */
export interface ResendDeps {
  sql: Sql;
  retries: Pick<DeliveryRetries, 'startResend'>;
  actor: Actor;
  log: Logger;
}

/**
 * Sends chosen deliveries of a merchant again, whatever their state, a few at a time, in a workflow.
 *
 * @throws DomainError `BAD_REQUEST`; `NOT_FOUND` when one of them is not the merchant's; `INVALID_STATE` without a
 * webhook URL, while another resend runs, or when one of the events is erased
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function resendSelected(
  deps: ResendDeps,
  owner: OrderOwner,
  deliveryIds: readonly string[],
): Promise<number> {
  const chosen = [...new Set(deliveryIds)];
  if (chosen.length === 0) throw new DomainError('BAD_REQUEST', 'Choose at least one webhook');
  if (chosen.length > MAX_SELECTED) {
    throw new DomainError('BAD_REQUEST', `At most ${MAX_SELECTED} webhooks can be chosen`);
  }
  const { sql } = deps;
  const { merchantId, environment } = owner;
  const found = await sql<{ deliveryId: string; isErased: boolean }[]>`
    SELECT delivery_id, is_erased FROM webhook_deliveries
    WHERE delivery_id = ANY (${chosen})
      AND merchant_id = ${merchantId} AND environment = ${environment}`;
  const own = new Set(found.map(({ deliveryId }) => deliveryId));
  const missing = chosen.find((deliveryId) => !own.has(deliveryId));
  if (missing !== undefined) throw deliveryNotFound(missing);
  const erased = found.find(({ isErased }) => isErased);
  if (erased) throw deliveryErased(erased.deliveryId);
  await admitSend(sql, merchantId, 'webhook_resend');
  return resend(deps, owner, sql`SELECT unnest(${chosen}::text[]) AS delivery_id`, {
    onlyUndelivered: false,
    details: {},
  });
}

/**
 * Sends again what was not accepted since a time: deliveries that became FAILED since then, and PENDING ones that
 * were created or refused since then; at most 10,000: first those never sent by hand, the oldest first, then those sent
 * by hand longest ago. So a repeat gets past events that the endpoint never accepts.
 *
 * @returns how many there are; 0 starts nothing
 * @throws DomainError `INVALID_STATE` without a webhook URL or while another resend runs
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function resendSince(
  deps: ResendDeps,
  owner: OrderOwner,
  since: Date,
): Promise<number> {
  await admitSend(deps.sql, owner.merchantId, 'webhook_resend');
  return resendUndelivered(deps, owner, since);
}

/** What {@link resendFailedSince} has begun for one endpoint, or why it has begun nothing. */
export interface EndpointResend extends OrderOwner {
  deliveries: number;
  reason: string | null;
}

/**
 * Does as {@link resendSince} for every endpoint that has failed since a time, without the limits of merchants.
 *
 * @throws Error when the database cannot be reached
 */
export async function resendFailedSince(
  deps: ResendDeps,
  since: Date,
  filter: Partial<OrderOwner>,
): Promise<EndpointResend[]> {
  const begun: EndpointResend[] = [];
  for (const owner of await findFailingSince(deps.sql, since, filter)) {
    try {
      const deliveries = await resendUndelivered(deps, owner, since);
      begun.push({ ...owner, deliveries, reason: null });
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      begun.push({ ...owner, deliveries: 0, reason: error.message });
    }
  }
  return begun;
}

/** Finds the endpoints where a delivery became FAILED, or an attempt of a PENDING one failed, since a time. */
export async function findFailingSince(
  sql: Sql,
  since: Date,
  { merchantId, environment }: Partial<OrderOwner>,
): Promise<OrderOwner[]> {
  return sql<OrderOwner[]>`
    SELECT DISTINCT merchant_id, environment FROM webhook_deliveries
    JOIN (
      SELECT delivery_id FROM webhook_deliveries WHERE state = 'FAILED' AND settled_at >= ${since}
      UNION ALL
      SELECT a.delivery_id FROM webhook_attempts a JOIN webhook_deliveries d
        ON d.delivery_id = a.delivery_id AND d.state = 'PENDING'
      WHERE a.error IS NOT NULL AND a.at >= ${since}
    ) AS failing USING (delivery_id)
    WHERE NOT is_erased
      ${merchantId ? sql`AND merchant_id = ${merchantId}` : sql``}
      ${environment ? sql`AND environment = ${environment}` : sql``}
    ORDER BY merchant_id, environment`;
}

function resendUndelivered(deps: ResendDeps, owner: OrderOwner, since: Date): Promise<number> {
  const { sql } = deps;
  const { merchantId, environment } = owner;
  const undelivered = sql`
    SELECT d.delivery_id FROM webhook_deliveries d
    WHERE d.merchant_id = ${merchantId} AND d.environment = ${environment}
      AND d.event_type = ANY (${[...EVENT_TYPES]}) AND d.state IN ('PENDING', 'FAILED')
      AND NOT d.is_erased
      AND CASE d.state WHEN 'FAILED' THEN d.settled_at >= ${since}
        ELSE d.created_at >= ${since} OR EXISTS (
          SELECT FROM webhook_attempts a
          WHERE a.delivery_id = d.delivery_id AND a.error IS NOT NULL AND a.at >= ${since}) END`;
  const details = { since: since.toISOString() };
  return resend(deps, owner, undelivered, { onlyUndelivered: true, details });
}

/** Writes the resend and its audit row, then starts its workflow. If the start is lost, the sweep repeats it. */
async function resend(
  { sql, retries, actor, log }: ResendDeps,
  { merchantId, environment }: OrderOwner,
  deliveries: postgres.PendingQuery<postgres.Row[]>,
  { onlyUndelivered, details }: { onlyUndelivered: boolean; details: Record<string, string> },
): Promise<number> {
  const resendId = `rsd_${ulid()}`;
  const [row] = await sql<[{ hasUrl: boolean; found: number; isCreated: boolean }]>`
    WITH wanted AS MATERIALIZED (
      SELECT array_agg(delivery_id ORDER BY tried_at NULLS FIRST, delivery_id) AS ids, count(*)::integer AS found
      FROM (
        SELECT delivery_id, (SELECT max(a.at) FROM webhook_attempts a
          WHERE a.delivery_id = chosen.delivery_id AND a.kind = 'manual') AS tried_at
        FROM (${deliveries}) AS chosen
        ORDER BY tried_at NULLS FIRST, delivery_id LIMIT ${MAX_RESENT}) AS next
    ), endpoint AS (
      SELECT FROM shared.merchant_environments
      WHERE merchant_id = ${merchantId} AND environment = ${environment}
        AND webhook_url IS NOT NULL
    ), created AS (
      INSERT INTO webhook_resends
        (resend_id, merchant_id, environment, delivery_ids, total_count, only_undelivered)
      SELECT ${resendId}, ${merchantId}, ${environment}, ids, found, ${onlyUndelivered}
      FROM wanted, endpoint WHERE found > 0
      ON CONFLICT (merchant_id, environment) WHERE finished_at IS NULL DO NOTHING
      RETURNING resend_id
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
      SELECT ${actor.name}, ${actor.address}, 'delivery.resend', ${merchantId}, resend_id,
        ${sql.json({ environment, ...details })}::jsonb || jsonb_build_object('deliveries', found)
      FROM created, wanted
    )
    SELECT found, EXISTS (SELECT FROM endpoint) AS has_url,
      EXISTS (SELECT FROM created) AS is_created
    FROM wanted`;
  if (!row.hasUrl) throw await endpointNotConfigured(sql, merchantId, environment);
  if (row.found === 0) return 0;
  if (!row.isCreated) {
    throw new DomainError('INVALID_STATE', 'Webhooks are being sent again already: wait for them');
  }
  try {
    await retries.startResend(resendId);
  } catch (err) {
    log.warn({ err, resendId }, 'The workflow of a resend was not started: the sweep starts it');
  }
  return row.found;
}
