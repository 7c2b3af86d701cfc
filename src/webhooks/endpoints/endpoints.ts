import type { Actor } from '../../db/actor.ts';
import type { Alongside, Sql } from '../../db/client.ts';
import { alongsideQuery, andAlongside } from '../../db/client.ts';
import type { Environment } from '../../domain/index.ts';
import { DomainError } from '../../domain/index.ts';
import { merchantNotFound } from '../../merchants/public.ts';
import { generateToken } from '../../tokens.ts';
import type { WebhookUrlSaveCheck } from '../sending/address-guard.ts';
import { webhookSecretContext } from '../schedule/attempt.ts';
import type { SecretBox } from '../../secret-box.ts';

/** `actor` is the name that the audit log records for the change. */
export interface EndpointDeps {
  sql: Sql;
  secretBox: SecretBox;
  actor: Actor;
  alongside?: Alongside | undefined;
}

/** Checks a URL when it is saved: see `checkWebhookUrlAtSave`. */
export type CheckUrl = (url: string, environment: Environment) => Promise<WebhookUrlSaveCheck>;

export interface Endpoint {
  url: string | null;
  hasSecret: boolean;
  updatedAt: Date | null;
}

/**
 * Saves a webhook URL that passes the address guard. The first save generates the secret and returns it; it is never
 * returned again. The secret stays when the URL is removed and another one is saved.
 *
 * @returns the new secret, or null when one exists already; and a warning for a host name that cannot be resolved
 * now
 * @throws DomainError `BAD_REQUEST` with the guard's reason, `NOT_FOUND`
 */
export async function saveWebhookUrl(
  { sql, secretBox, actor, checkUrl, alongside }: EndpointDeps & { checkUrl: CheckUrl },
  merchantId: string,
  environment: Environment,
  url: string,
): Promise<{ secret: string | null; warning: string | null }> {
  const checked = await checkUrl(url, environment);
  if (!checked.ok) throw new DomainError('BAD_REQUEST', `The webhook URL ${checked.reason}`);
  const secret = generateToken('whsec_');
  const sealed = secretBox.seal(secret, webhookSecretContext(merchantId, environment));
  // The path and the query of a URL may contain a secret of the merchant, so the audit log records only the host.
  const details = sql.json({ environment, host: checked.url.host });
  const [row] = await sql<{ webhookSecretSealed: string }[]>`
    WITH saved AS (
      INSERT INTO merchant_environments AS e
        (merchant_id, environment, webhook_url, webhook_secret_sealed)
      SELECT merchant_id, ${environment}, ${url}, ${sealed}
      FROM shared.merchants WHERE merchant_id = ${merchantId}
      ON CONFLICT (merchant_id, environment) DO UPDATE SET
        webhook_url = excluded.webhook_url, updated_at = clock_timestamp(),
        webhook_secret_sealed = coalesce(e.webhook_secret_sealed, excluded.webhook_secret_sealed)
      RETURNING e.merchant_id, e.webhook_secret_sealed
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, details)
      SELECT ${actor.name}, ${actor.address}, 'webhook.set', merchant_id, ${details} FROM saved
    ) ${alongsideQuery(sql, alongside, 'saved')}
    SELECT webhook_secret_sealed FROM saved ${andAlongside(sql, alongside)}`;
  if (!row) throw merchantNotFound(merchantId);
  return {
    secret: row.webhookSecretSealed === sealed ? secret : null,
    warning: checked.warning,
  };
}

/**
 * The current endpoint, without its secret.
 *
 * @throws DomainError `NOT_FOUND`
 */
export async function findEndpoint(
  sql: Sql,
  merchantId: string,
  environment: Environment,
): Promise<Endpoint> {
  const [row] = await sql<Endpoint[]>`
    SELECT e.webhook_url AS url, e.webhook_secret_sealed IS NOT NULL AS has_secret, e.updated_at
    FROM shared.merchants m
    LEFT JOIN shared.merchant_environments e
      ON e.merchant_id = m.merchant_id AND e.environment = ${environment}
    WHERE m.merchant_id = ${merchantId}`;
  if (!row) throw merchantNotFound(merchantId);
  return row;
}

/**
 * Replaces the webhook secret. The next attempt is signed with the new one.
 *
 * @returns the new secret, which is never returned again
 * @throws DomainError `NOT_FOUND`, `INVALID_STATE` when no URL was ever saved
 */
export async function rotateWebhookSecret(
  { sql, secretBox, actor, alongside }: EndpointDeps,
  merchantId: string,
  environment: Environment,
): Promise<{ secret: string }> {
  const secret = generateToken('whsec_');
  const sealed = secretBox.seal(secret, webhookSecretContext(merchantId, environment));
  const rows = await sql`
    WITH rotated AS (
      UPDATE merchant_environments
      SET webhook_secret_sealed = ${sealed}, updated_at = clock_timestamp()
      WHERE merchant_id = ${merchantId} AND environment = ${environment}
        AND webhook_secret_sealed IS NOT NULL
      RETURNING merchant_id
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, details)
      SELECT ${actor.name}, ${actor.address}, 'webhook.rotate_secret', merchant_id, ${sql.json({ environment })}
      FROM rotated
    ) ${alongsideQuery(sql, alongside, 'rotated')}
    SELECT FROM rotated ${andAlongside(sql, alongside)}`;
  if (rows.length === 0) throw await endpointNotConfigured(sql, merchantId, environment);
  return { secret };
}

/**
 * Removes the URL. No more events are sent, and a pending delivery becomes FAILED at its next attempt. The secret is
 * kept for the next URL.
 *
 * @throws DomainError `NOT_FOUND`, `INVALID_STATE` when there is none
 */
export async function removeWebhookUrl(
  { sql, actor, alongside }: Omit<EndpointDeps, 'secretBox'>,
  merchantId: string,
  environment: Environment,
): Promise<void> {
  const rows = await sql`
    WITH removed AS (
      UPDATE merchant_environments SET webhook_url = NULL, updated_at = clock_timestamp()
      WHERE merchant_id = ${merchantId} AND environment = ${environment}
        AND webhook_url IS NOT NULL
      RETURNING merchant_id
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, details)
      SELECT ${actor.name}, ${actor.address}, 'webhook.remove', merchant_id, ${sql.json({ environment })} FROM removed
    ) ${alongsideQuery(sql, alongside, 'removed')}
    SELECT FROM removed ${andAlongside(sql, alongside)}`;
  if (rows.length === 0) throw await endpointNotConfigured(sql, merchantId, environment);
}

export async function endpointNotConfigured(
  sql: Sql,
  merchantId: string,
  environment: Environment,
): Promise<DomainError> {
  await findEndpoint(sql, merchantId, environment);
  return new DomainError('INVALID_STATE', `No webhook URL is configured in ${environment}`);
}
