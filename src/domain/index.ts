// The bundle of the workflows has everything that this file names; business-identity.ts is imported by itself.
export * from './errors.ts';
export * from './lifecycle.ts';
export * from './money.ts';
export * from './order.ts';
export * from './reducer.ts';
export * from './refusals.ts';
export * from './waiting.ts';
export * from './webhook-retries.ts';
