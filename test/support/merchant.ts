import type { Config } from '../../src/config.ts';
import type { Sql } from '../../src/db/client.ts';
import type { Environment } from '../../src/domain/index.ts';
import { createUrlCheck } from '../../src/main/compose/webhook-rules.ts';
import { changeMerchantStatus, createMerchant } from '../../src/merchants/commands.ts';
import { prepareAccountChange } from '../../src/merchants/linked-accounts.ts';
import { createKeyPair } from '../../src/merchants/keys/keys.ts';
import type { CheckedAccount } from '../../src/merchants/public.ts';
import { saveWebhookUrl } from '../../src/webhooks/endpoints/endpoints.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { TEST_ACTOR } from './actor.ts';
import { createApiClient } from './api-client.ts';
import { startWebhookReceiver } from './webhook-receiver.ts';

export interface MerchantOptions {
  name?: string;
  /** Whether the sandbox has an endpoint, the merchant's receiver. */
  webhooks?: boolean;
  /** The linked account to which production's gateway pays out: it receives transfers. */
  linkedAccountId?: string;
  /** The payment gateway, if another than Razorpay. */
  gateway?: string;
}

interface MerchantDeps {
  config: Config;
  sql: Sql;
  /** The origin of the API that the merchant calls. */
  origin: string;
  now: () => Promise<number>;
}

/** An account that receives transfers, as if its gateway had just said so; the gateway need not have it. */
export const usableAccount = (linkedAccountId: string, gateway = 'razorpay'): CheckedAccount => ({
  gateway,
  linkedAccountId,
  state: 'activated',
  transfersFrom: new Date(0),
  checkAgainMs: 86_400_000,
});

/** An approved merchant with keys of both environments, and a webhook receiver. */
export async function createTestMerchant(
  { config, sql, origin, now }: MerchantDeps,
  { name = 'Asha Textiles', webhooks = true, linkedAccountId, gateway }: MerchantOptions,
) {
  const { apiSecretPepper: pepper = '', webhookSecretKeys = '' } = config;
  const secretBox = createSecretBox(webhookSecretKeys);
  const admin = { sql, pepper, secretBox, checkUrl: createUrlCheck(config), actor: TEST_ACTOR };
  const { merchantId } = await createMerchant(admin, {
    name,
    email: 'owner@example.com',
  });
  const linkedAccount =
    linkedAccountId === undefined
      ? undefined
      : await prepareAccountChange(
          {
            sql,
            linkedAccountChangeMs: config.durations.linkedAccountChangeMs,
            publicBaseUrl: config.publicBaseUrl,
            mailBox: createSecretBox(config.dataEncryptionKeys ?? ''),
          },
          merchantId,
          usableAccount(linkedAccountId, gateway),
        );
  await changeMerchantStatus(admin, merchantId, 'approve', { linkedAccount, gateway });
  // Without a mail server it would be an alert.
  await sql`DELETE FROM mails WHERE mail_id = ${linkedAccount?.mail?.mailId ?? ''}`;
  const keys = {
    sandbox: await createKeyPair(admin, merchantId, 'sandbox'),
    production: await createKeyPair(admin, merchantId, 'production'),
  };
  const receiver = await startWebhookReceiver(now);
  const { secret } = webhooks
    ? await saveWebhookUrl(admin, merchantId, 'sandbox', receiver.url)
    : { secret: null };
  const api = (environment: Environment) => createApiClient(origin, keys[environment], environment);
  return {
    merchantId,
    keys,
    receiver,
    webhookSecret: secret ?? '',
    sandbox: api('sandbox'),
    production: api('production'),
  };
}
export type Merchant = Awaited<ReturnType<typeof createTestMerchant>>;
