export * from './business-identity.ts';
export * from './errors.ts';
export * from './lifecycle.ts';
export * from './money.ts';
export * from './order.ts';
export * from './reducer.ts';
export type { Sentence, SentencePart } from './sentence.ts';
export * from './waiting.ts';
export * from './webhook-retries.ts';
