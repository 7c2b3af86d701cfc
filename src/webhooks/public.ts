export { DELIVERY_STATES } from './schedule/attempt-log.ts';
export { webhookSecretContext } from './schedule/attempt.ts';
export type { CheckUrl, Endpoint } from './endpoints/endpoints.ts';
export {
  findEndpoint,
  removeWebhookUrl,
  rotateWebhookSecret,
  saveWebhookUrl,
} from './endpoints/endpoints.ts';
export type {
  AttemptsOfHour,
  EndpointFigures,
  FailingEndpoint,
} from './endpoints/endpoint-figures.ts';
export {
  attemptsByHour,
  endpointFailingSince,
  endpointFigures,
  findFailingEndpoints,
} from './endpoints/endpoint-figures.ts';
export { deliveryNotFound, listDeliveries } from './lists/delivery-list.ts';
export type { DeliveryPageFilter, ListedDelivery } from './lists/delivery-pages.ts';
export { pageDeliveries } from './lists/delivery-pages.ts';
export type {
  AttemptDetails,
  AttemptSummary,
  MerchantDelivery,
} from './lists/merchant-delivery.ts';
export { findAttempt, findMerchantDelivery } from './lists/merchant-delivery.ts';
export type { FailingDeliveries } from './schedule/failing-warnings.ts';
export { FAILING_ENDPOINT, lastAttempts } from './schedule/failing-warnings.ts';
export type { RetryOutcome } from './resend/manual-retry.ts';
export { retryDelivery, retryForMerchant } from './resend/manual-retry.ts';
export type { ResendProgress } from './resend/resend-progress.ts';
export { latestResend } from './resend/resend-progress.ts';
export { resendSelected, resendSince } from './resend/resend.ts';
export type { WebhookSender } from './sending/sender.ts';
export type { SentRequest } from './sending/signed-request.ts';
export type { TestEventResult, TestEventType } from './endpoints/test-event.ts';
export { sendTestEvent, testEventTypesOf } from './endpoints/test-event.ts';
