export type { List, Payorders } from './client.ts';
export { createClient } from './client.ts';
export { PayordersError } from './errors.ts';
export type { DedupeStore, HandlerOptions } from './handlers.ts';
export { memoryStore, nodeHandler, webHandler } from './handlers.ts';
export { formatPaise, toPaise } from './money.ts';
export type { CallOptions, ClientOptions } from './transport.ts';
export type * from './types.ts';
export type { SignedEvent, SignedFacts, WebhookHeaders, WebhookMistake } from './webhooks.ts';
export {
  faultOfSecret,
  signBody,
  signTestEvent,
  verify,
  WebhookVerificationError,
} from './webhooks.ts';
