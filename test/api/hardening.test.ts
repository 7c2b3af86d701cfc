import { expect } from 'vitest';
import { serviceTest } from '../support/service-test.ts';

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } });

const ORDERS = '/sandbox/api/merchant/v1/orders';

test.for([
  ['security headers', '/docs', 'x-content-type-options', 'nosniff'],
  [
    'a strict policy',
    '/docs',
    'content-security-policy',
    expect.stringMatching(/^default-src 'none'/),
  ],
  ['no frame', '/docs', 'x-frame-options', 'DENY'],
  ['no cache for private data', `${ORDERS}?size=1`, 'cache-control', 'no-store'],
  ['no ETag for private data', `${ORDERS}?size=1`, 'etag', null],
  ['no word about the software', `${ORDERS}?size=1`, 'x-powered-by', null],
] as const)('every answer has %s', async ([_what, path, name, value], { service, merchant }) => {
  const { apiKey, apiSecret } = merchant.keys.sandbox;
  const headers = { 'X-API-Key': apiKey, 'X-API-Secret': apiSecret };
  const response = await fetch(service.origin + path, { headers });
  expect([response.status, response.headers.get(name)]).toEqual([200, value]);
});
