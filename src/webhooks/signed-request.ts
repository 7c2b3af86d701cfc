import type { Environment } from '../domain/index.ts';
import type { WebhookRequest } from './sender.ts';
import { signWebhook } from './signature.ts';

/** An event and its endpoint. */
export interface SignedRequestInput {
  url: string;
  environment: Environment;
  /** In clear text, `whsec_` included. */
  secret: string;
  eventType: string;
  eventId: string;
  body: string;
  apiVersion: string;
}

/** Creates the request of one attempt, signed over its exact bytes with the time `sentAt`. */
export function signedRequest(message: SignedRequestInput, sentAt: Date): WebhookRequest {
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
