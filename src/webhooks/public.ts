/** What other features may import from the webhooks. */
export { ATTEMPT_LEASE_MS, DELIVERY_STATES } from './attempt-log.ts';
export { webhookSecretContext } from './attempts.ts';
export type { CheckUrl, Endpoint } from './endpoints.ts';
export {
  findEndpoint,
  removeWebhookUrl,
  rotateWebhookSecret,
  saveWebhookUrl,
} from './endpoints.ts';
export type { EndpointFigures } from './endpoint-figures.ts';
export { endpointFigures } from './endpoint-figures.ts';
export { deliveryNotFound, listDeliveries } from './delivery-list.ts';
export type {
  DeliveryOwner,
  DeliveryPage,
  DeliveryPageFilter,
  ListedDelivery,
} from './delivery-pages.ts';
export { pageDeliveries } from './delivery-pages.ts';
export type { AttemptDetails, AttemptSummary, MerchantDelivery } from './merchant-delivery.ts';
export { findAttempt, findMerchantDelivery } from './merchant-delivery.ts';
export type { LastAttempts } from './last-attempts.ts';
export { lastAttempts } from './last-attempts.ts';
export type { RetryOutcome } from './manual-retry.ts';
export { retryDelivery } from './manual-retry.ts';
export type { ResendProgress } from './resend.ts';
export { latestResend, resendSelected, resendSince } from './resend.ts';
export type { WebhookSender } from './sender.ts';
export type { SentRequest } from './signed-request.ts';
export type { TestEventResult, TestEventType } from './test-event.ts';
export { sendTestEvent, testEventTypesOf } from './test-event.ts';
export type { FailingEndpoint } from './failing-endpoints.ts';
export { findFailingEndpoints } from './failing-endpoints.ts';
