import { loadConfig, required } from '../../src/config.ts';
import { connectDatabase } from '../../src/db/client.ts';
import { createUrlCheck } from '../../src/main/compose/webhook-rules.ts';
import { changeMerchantStatus, createMerchant } from '../../src/merchants/commands.ts';
import type { KeyPair } from '../../src/merchants/credentials.ts';
import { createKeyPair } from '../../src/merchants/keys.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { saveWebhookUrl } from '../../src/webhooks/endpoints/endpoints.ts';

/** An approved merchant with sandbox keys and a webhook endpoint. */
export interface RegisteredMerchant {
  readonly merchantId: string;
  readonly keys: KeyPair;
  readonly webhookSecret: string;
}

/**
 * Registers and approves a merchant in the sandbox, as operators do.
 *
 * @param environment the settings of the service
 * @param actor who did it, in the audit log
 */
export async function registerMerchant(
  environment: NodeJS.ProcessEnv,
  webhookUrl: string,
  actor: string,
): Promise<RegisteredMerchant> {
  const config = loadConfig(environment);
  const url = required(config, 'DATABASE_URL');
  const sealing = required(config, 'WEBHOOK_SECRET_KEYS');
  const pepper = required(config, 'API_SECRET_PEPPER');
  const sql = connectDatabase(url, { maxConnections: 1, name: actor });
  try {
    const admin = {
      sql,
      pepper,
      secretBox: createSecretBox(sealing),
      checkUrl: createUrlCheck(config),
      actor: { name: actor, address: null },
    };
    const merchant = { name: 'Asha Textiles', email: 'asha@example.com' };
    const { merchantId } = await createMerchant(admin, merchant);
    await changeMerchantStatus(admin, merchantId, 'approve');
    const keys = await createKeyPair(admin, merchantId, 'sandbox');
    const { secret } = await saveWebhookUrl(admin, merchantId, 'sandbox', webhookUrl);
    return { merchantId, keys, webhookSecret: secret ?? '' };
  } finally {
    await sql.end({ timeout: 1 });
  }
}
