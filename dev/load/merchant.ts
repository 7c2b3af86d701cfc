import type { Environment } from '../../src/domain/index.ts';
import { createAdminService } from '../../src/main/admin/service.ts';
import { createUrlCheck } from '../../src/main/compose/webhook-rules.ts';
import { changeMerchantStatus, createMerchant } from '../../src/merchants/commands.ts';
import type { KeyPair } from '../../src/merchants/keys/credentials.ts';
import { createKeyPair } from '../../src/merchants/keys/keys.ts';
import { saveWebhookUrl } from '../../src/webhooks/endpoints/endpoints.ts';
import { createMerchantClient, type ClientOptions, type MerchantClient } from './client.ts';
import { startReceiver, type Receiver, type ReceiverOptions } from './receiver.ts';

/** A service that merchants use. */
export interface UsedService {
  /** The settings of the service. */
  readonly environment: Readonly<Record<string, string>>;
  /** The origin of the API or its balancer. */
  readonly apiBaseUrl: string;
}

/** An approved merchant with keys, its backend and its webhook endpoint. */
export interface LoadMerchant {
  readonly merchantId: string;
  readonly keys: KeyPair;
  readonly webhookSecret: string;
  readonly client: MerchantClient;
  readonly receiver: Receiver;
}

/** Registers and approves a merchant, and starts its endpoint; that of production has no webhook URL. */
export async function startMerchant(
  { environment: settings, apiBaseUrl }: UsedService,
  {
    actor,
    path = '',
    environment = 'sandbox',
    ...options
  }: ClientOptions &
    ReceiverOptions & {
      /** Who registers it, in the audit log. */
      readonly actor: string;
      /** What follows in its webhook URL. */
      readonly path?: string;
    },
): Promise<LoadMerchant> {
  const receiver = await startReceiver(options);
  // In production the API accepts only https.
  const webhookUrl = environment === 'sandbox' ? receiver.url + path : undefined;
  const merchant = await registerMerchant(settings, environment, { webhookUrl, actor });
  receiver.useSecret(merchant.webhookSecret);
  const client = createMerchantClient(apiBaseUrl, merchant.keys, { ...options, environment });
  return { ...merchant, client, receiver };
}

/** Does what operators do for a new merchant. */
export async function registerMerchant(
  settings: UsedService['environment'],
  environment: Environment,
  { webhookUrl, actor }: { webhookUrl?: string | undefined; actor: string },
): Promise<Omit<LoadMerchant, 'client' | 'receiver'>> {
  const service = createAdminService(settings, {});
  try {
    const admin = {
      sql: service.sql,
      pepper: service.pepper(),
      secretBox: service.secretBox(),
      checkUrl: createUrlCheck(service.config),
      actor: { name: actor, address: null },
    };
    const merchant = { name: 'Asha Textiles', email: 'asha@example.com' };
    const { merchantId } = await createMerchant(admin, merchant);
    await changeMerchantStatus(admin, merchantId, 'approve');
    const keys = await createKeyPair(admin, merchantId, environment);
    if (webhookUrl === undefined) return { merchantId, keys, webhookSecret: '' };
    const { secret } = await saveWebhookUrl(admin, merchantId, environment, webhookUrl);
    return { merchantId, keys, webhookSecret: secret ?? '' };
  } finally {
    await service.close();
  }
}
