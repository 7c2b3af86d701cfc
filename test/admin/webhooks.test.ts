import { createHmac } from 'node:crypto';
import { describe, expect } from 'vitest';
import { orderSchema } from '../../src/orders/schemas.ts';
import {
  findEndpoint,
  removeWebhookUrl,
  rotateWebhookSecret,
  sendTestEvent,
} from '../../src/webhooks/public.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import type { AdminCli } from '../support/admin-cli.ts';
import { auditOf } from '../support/audit.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import type { ReceivedWebhook, WebhookReceiver } from '../support/webhook-receiver.ts';

interface Endpoint {
  url: string | null;
  secret: string | null;
  warning: string | null;
}

const test = serviceTest({ time: 'real', worker: false });

/** An approved merchant with a running receiver, whose URL is not set yet. */
async function aMerchant(
  service: TestService,
): Promise<{ merchantId: string; receiver: WebhookReceiver }> {
  return service.newMerchant({ webhooks: false });
}

const set = (cli: AdminCli, merchantId: string, ...options: string[]) =>
  cli.json<Endpoint>('webhook', 'set', '--merchant', merchantId, ...options);

const depsOf = ({ deps }: TestService) => ({ ...deps, actor: TEST_ACTOR });
const rotate = (service: TestService, merchantId: string) =>
  rotateWebhookSecret(depsOf(service), merchantId, 'sandbox');
const sendTest = (service: TestService, merchantId: string) =>
  sendTestEvent(depsOf(service), merchantId, 'sandbox');

/** The merchant of `aMerchant` with the URL set, and the secret that the command has shown. */
async function aMerchantWithUrl(service: TestService, cli: AdminCli) {
  const merchant = await aMerchant(service);
  const { secret } = await set(cli, merchant.merchantId, '--url', merchant.receiver.url);
  return { ...merchant, secret };
}

const actionsOf = async (service: TestService, merchantId: string) =>
  (await auditOf(service.sql, merchantId))
    .map(({ action }) => action)
    .filter((action) => action.startsWith('webhook.'));

function onlyWebhook({ received }: WebhookReceiver): ReceivedWebhook {
  const [sent] = received;
  if (received.length !== 1 || !sent) throw new Error(`${received.length} webhooks arrived`);
  return sent;
}

function signatureWith(secret: string | null, { headers, rawBody }: ReceivedWebhook): string {
  const signed = `${String(headers['x-service-timestamp'])}.${rawBody}`;
  return createHmac('sha256', secret ?? '')
    .update(signed)
    .digest('hex');
}

/** Every row of every table as text, as in a stolen dump. */
async function dump(service: TestService): Promise<string> {
  const tables = await service.sql<{ name: string }[]>`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`;
  const rows = await Promise.all(
    tables.map(({ name }) => service.sql`SELECT t::text FROM ${service.sql(name)} t`),
  );
  return JSON.stringify(rows);
}

describe('the webhook URL', () => {
  test('gets its secret at the first save, which is shown once; environments have separate ones', async ({
    service,
    cli,
  }) => {
    const { merchantId, receiver } = await aMerchant(service);
    const first = await set(cli, merchantId, '--url', receiver.url);
    expect(first).toMatchObject({ url: receiver.url, warning: null });
    expect(first.secret).toMatch(/^whsec_[0-9A-Za-z]{36}$/);
    const second = await set(cli, merchantId, '--url', `${receiver.url}/2`);
    expect(second.secret).toBeNull();
    const shown = await findEndpoint(service.sql, merchantId, 'sandbox');
    expect(shown).toMatchObject({ url: `${receiver.url}/2`, hasSecret: true });
    expect(JSON.stringify(shown)).not.toContain('whsec_');
    const unknown = ['--environment', 'production', '--url', 'https://no-such-host.invalid/hooks'];
    const other = await set(cli, merchantId, ...unknown);
    expect(other.warning).toContain('cannot be resolved now');
    expect(other.secret).toMatch(/^whsec_/);
    expect(other.secret).not.toBe(first.secret);
    expect(await actionsOf(service, merchantId)).toEqual([
      'webhook.set',
      'webhook.set',
      'webhook.set',
    ]);
  });

  test.for(['PORT', 'DATABASE_URL', 'TEMPORAL_ADDRESS'] as const)(
    'on the port of the service’s own %s is refused, also on an opened address',
    async (setting, { service, cli }) => {
      const port = setting === 'PORT' ? '8080' : /:(\d+)(?:\/|$)/.exec(service.env[setting])?.[1];
      const args = ['--merchant', 'mer_x', '--url', `http://127.0.0.1:${port}/`];
      const line = await cli.refusal('webhook', 'set', ...args);
      expect(line).toBe(`The webhook URL must not use port ${port}`);
    },
  );

  test('of an unknown merchant is refused', async ({ service, cli }) => {
    const { receiver } = await aMerchant(service);
    const args = ['--merchant', 'mer_none', '--url', receiver.url];
    expect(await cli.refusal('webhook', 'set', ...args)).toBe('Merchant not found: mer_none');
  });

  test('is removed: nothing is sent; the secret stays for the next URL', async ({
    service,
    cli,
  }) => {
    const { merchantId, receiver, secret } = await aMerchantWithUrl(service, cli);
    const { sql } = service;
    const remove = () => removeWebhookUrl({ sql, actor: TEST_ACTOR }, merchantId, 'sandbox');
    await remove();
    const removed = await findEndpoint(sql, merchantId, 'sandbox');
    expect(removed).toMatchObject({ url: null, hasSecret: true });
    await expect(remove()).rejects.toThrow('No webhook URL is configured in sandbox');
    expect((await set(cli, merchantId, '--url', receiver.url)).secret).toBeNull();
    await sendTest(service, merchantId);
    const sent = onlyWebhook(receiver);
    expect(sent.headers['x-service-signature']).toBe(signatureWith(secret, sent));
    expect(await actionsOf(service, merchantId)).toEqual([
      'webhook.set',
      'webhook.remove',
      'webhook.set',
      'webhook.test',
    ]);
  });
});

describe('the webhook secret', () => {
  test('is rotated once there is a URL: the next webhook is signed with the new one only', async ({
    service,
    cli,
  }) => {
    const { merchantId, receiver } = await aMerchant(service);
    await expect(rotate(service, merchantId)).rejects.toThrow(
      'No webhook URL is configured in sandbox',
    );
    const { secret } = await set(cli, merchantId, '--url', receiver.url);
    const after = await rotate(service, merchantId);
    expect(after.secret).toMatch(/^whsec_/);
    await sendTest(service, merchantId);
    const sent = onlyWebhook(receiver);
    expect(sent.headers['x-service-signature']).toBe(signatureWith(after.secret, sent));
    expect(sent.headers['x-service-signature']).not.toBe(signatureWith(secret, sent));
    expect(await actionsOf(service, merchantId)).toContain('webhook.rotate_secret');
  });

  test('is nowhere in the database in plain text', async ({ service, cli }) => {
    const { merchantId, secret } = await aMerchantWithUrl(service, cli);
    const { secret: rotated } = await rotate(service, merchantId);
    const text = await dump(service);
    expect(text).toContain(merchantId);
    expect(text).not.toContain('whsec_');
    expect(text).not.toContain((secret ?? '').slice('whsec_'.length));
    expect(text).not.toContain((rotated ?? '').slice('whsec_'.length));
  });
});

describe('the test event', () => {
  test('has the shape of every webhook, an order that does not exist, and a separate type, and is no delivery', async ({
    service,
    cli,
  }) => {
    const { merchantId, receiver } = await aMerchantWithUrl(service, cli);
    const result = await sendTest(service, merchantId);
    expect(result).toMatchObject({ delivered: true, statusCode: 200, error: null });
    const { headers, body } = onlyWebhook(receiver);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-event': 'TEST',
      'x-service-event-id': result.eventId,
    });
    expect(body).toMatchObject({
      event: 'TEST',
      event_id: result.eventId,
      sequence: 0,
      environment: 'sandbox',
    });
    expect(orderSchema.safeParse(body.data).error).toBeUndefined();
    expect(await cli.json('delivery', 'list', '--merchant', merchantId)).toEqual([]);
  });
});
