import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { generateToken } from '../tokens.ts';
import { webhookSecretPlace } from './deliver.ts';
import type { SecretBox } from './secret-box.ts';

export interface EndpointDeps {
  sql: Sql;
  secretBox: SecretBox;
  actor: string;
}

/**
 * Saves a webhook URL. Its secret is made at the first save and returned only then.
 *
 * @returns the new secret, or null when there is one already
 */
export async function saveWebhookUrl(
  { sql, secretBox, actor }: EndpointDeps,
  merchantId: string,
  environment: Environment,
  url: string,
): Promise<{ secret: string | null }> {
  const secret = generateToken('whsec_');
  const sealed = secretBox.seal(secret, webhookSecretPlace(merchantId, environment));
  const [row] = await sql<{ webhook_secret_sealed: string }[]>`
    WITH audited AS (
      INSERT INTO audit_log (actor, action, merchant_id, subject)
      VALUES (${actor}, 'webhook.set', ${merchantId}, ${environment})
    )
    INSERT INTO merchant_environments AS e
      (merchant_id, environment, webhook_url, webhook_secret_sealed)
    VALUES (${merchantId}, ${environment}, ${url}, ${sealed})
    ON CONFLICT (merchant_id, environment) DO UPDATE SET
      webhook_url = excluded.webhook_url, updated_at = clock_timestamp(),
      webhook_secret_sealed = coalesce(e.webhook_secret_sealed, excluded.webhook_secret_sealed)
    RETURNING webhook_secret_sealed`;
  return { secret: row?.webhook_secret_sealed === sealed ? secret : null };
}
