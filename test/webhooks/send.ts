import { onTestFinished } from 'vitest';
import { createWebhookSender } from '../../src/webhooks/sender.ts';
import type { WebhookRequest, WebhookSenderOptions } from '../../src/webhooks/sender.ts';

/** The only address that is opened: other loopback addresses stay denied. */
export const OPENED = '127.0.0.1';

/** A sender that is closed when its test is, with limits short enough for tests. */
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

/** A webhook to an address; what a test does not name does not matter to it. */
export function webhookTo(url: string, overrides: Partial<WebhookRequest> = {}): WebhookRequest {
  return {
    url,
    environment: 'sandbox',
    headers: { 'content-type': 'application/json', 'x-service-event': 'ORDER_CREATED' },
    body: Buffer.from('{"event":"ORDER_CREATED"}'),
    ...overrides,
  };
}
