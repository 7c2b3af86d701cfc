import { onTestFinished } from 'vitest';
import { createWebhookSender } from '../../src/webhooks/sender.ts';
import type { WebhookRequest, WebhookSenderOptions } from '../../src/webhooks/sender.ts';

/** The only opened address: other loopback addresses stay denied. */
export const OPENED = '127.0.0.1';

/** A sender that is closed after its test, with limits short enough for tests. */
export function makeSender(options: Partial<WebhookSenderOptions> = {}) {
  const sender = createWebhookSender({
    allowedCidrs: [`${OPENED}/32`],
    deniedPorts: [],
    totalTimeoutMs: 2000,
    lookup: async () => [OPENED],
    ...options,
  });
  onTestFinished(() => sender.close());
  return sender;
}

/** A webhook to an address, with defaults for everything that a test does not set. */
export function webhookTo(url: string, overrides: Partial<WebhookRequest> = {}): WebhookRequest {
  return {
    url,
    environment: 'sandbox',
    headers: { 'content-type': 'application/json', 'x-service-event': 'ORDER_CREATED' },
    body: Buffer.from('{"event":"ORDER_CREATED"}'),
    ...overrides,
  };
}
