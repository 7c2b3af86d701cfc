import type { Environment } from '../domain/index.ts';
import type { WebhookRequest } from './sender.ts';
import { signWebhook } from './signature.ts';

export interface WebhookMessage {
  url: string;
  environment: Environment;
  /** In the clear, `whsec_` included. */
  secret: string;
  eventType: string;
  eventId: string;
  body: string;
  apiVersion: string;
}

/** A request to send, signed over its exact bytes as of now; made afresh for each attempt. */
export function signedRequest(message: WebhookMessage, sentAt: Date): WebhookRequest {
  const { url, environment, secret, eventType, eventId, apiVersion } = message;
  const body = Buffer.from(message.body);
  const timestampSeconds = Math.floor(sentAt.getTime() / 1000);
  return {
    url,
    environment,
    body,
    headers: {
      'Content-Type': 'application/json',
      'User-Agent': 'merchant-payment-order-service/1',
      'X-API-Version': apiVersion,
      'X-Service-Event': eventType,
      'X-Service-Event-Id': eventId,
      'X-Service-Signature': signWebhook({ secret, timestampSeconds, rawBody: body }),
      'X-Service-Timestamp': String(timestampSeconds),
    },
  };
}
