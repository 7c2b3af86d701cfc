import { onTestFinished } from 'vitest';
import { createWebhookSender } from '../../src/webhooks/sending/sender.ts';
import type { WebhookSenderOptions } from '../../src/webhooks/sending/sender.ts';
import type { WebhookRequest } from '../../src/webhooks/sending/signed-request.ts';
import { UNTIL_MS } from '../support/time-limits.ts';

/** The only opened address: other loopback addresses stay denied. */
export const OPENED = '127.0.0.1';

/** A sender, closed after its test, whose time limits no busy machine reaches; a test of a limit sets it. */
export function makeSender(options: Partial<WebhookSenderOptions> = {}) {
  const sender = createWebhookSender({
    allowedCidrs: [`${OPENED}/32`],
    deniedPorts: [],
    connectTimeoutMs: UNTIL_MS,
    totalTimeoutMs: UNTIL_MS,
    queueTimeoutMs: UNTIL_MS,
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
