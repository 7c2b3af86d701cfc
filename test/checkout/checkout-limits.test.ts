import { expect } from 'vitest';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import type { PageAnswer } from './buyer.ts';
import { open, post, textOf } from './buyer.ts';

const test = serviceTest({
  time: 'real',
  settings: {
    BUYER_RATE_LIMIT_PER_SECOND: '3',
    PUBLIC_BASE_URL: 'https://shop.example/orders/',
    TRUSTED_PROXIES: '127.0.0.1',
  },
});

/** The page's URL on this machine, without the path prefix that the proxy adds. */
const localUrl = (service: TestService, paymentUrl: string) =>
  service.origin + new URL(paymentUrl).pathname.slice(7);

/** The status of a request once the limit admits it. */
async function admitted(request: () => Promise<PageAnswer>): Promise<PageAnswer> {
  const answer = await request();
  return answer.status === 429 ? admitted(request) : answer;
}

test('many buyers may share an address, up to a limit: 429 as a page, and only there', async ({
  service,
}) => {
  const { sandbox } = await service.newMerchant({ webhooks: false });
  const url = localUrl(service, (await sandbox.create()).payment_url);
  let first: PageAnswer | undefined;
  // On a slow machine ten may take longer than the second in which three are admitted.
  await until(async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => open(url)));
    first = answers.find(({ status }) => status === 429);
    return first !== undefined;
  });
  expect(first?.headers.get('retry-after')).toBe('1');
  expect(textOf(first?.html ?? '')).toContain('Too many requests');
  // A refused page still gets its style, and merchants are not affected.
  const [, style = ''] = /href="([^"]+\.css)"/.exec(first?.html ?? '') ?? [];
  expect((await open(localUrl(service, new URL(style, service.origin).href))).status).toBe(200);
  const orders = await Promise.all(Array.from({ length: 10 }, () => sandbox.get('/orders')));
  expect(orders.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
});

test('buyers of one IPv6 /56 network share a limit, merchants have one for each /64', async ({
  service,
}) => {
  const { sandbox } = await service.newMerchant({ webhooks: false });
  const url = localUrl(service, (await sandbox.create()).payment_url);
  const clients = Array.from({ length: 60 }, (_, index) => ({
    'X-Forwarded-For': `2001:db8:1:${index.toString(16)}::1`,
  }));
  const list = (headers: Record<string, string>) =>
    sandbox.call('GET', '/orders', undefined, headers);
  const merchants = await Promise.all(clients.map(list));
  expect(new Set(merchants.map(({ status }) => status))).toEqual(new Set([200]));
  const buyers = await Promise.all(clients.map((headers) => fetch(url, { headers })));
  expect(buyers.some(({ status }) => status === 429)).toBe(true);
});

test('behind a path prefix every address of the page has the prefix', async ({ service }) => {
  const { sandbox } = await service.newMerchant({ webhooks: false });
  const order = await sandbox.create();
  const { pathname } = new URL(order.payment_url);
  expect(pathname).toMatch(/^\/orders\/pay\/[A-Za-z0-9_-]{32}$/);
  const page = await admitted(() => open(localUrl(service, order.payment_url)));
  const paths = [
    ...page.html.matchAll(/(?:href|src|action|data-page|data-status)="(?!mailto:)([^"]+)"/g),
  ];
  expect(paths.length).toBeGreaterThan(4);
  for (const [, path] of paths) expect(path).toMatch(/^\/orders\/(?:pay|files)\//);
  const url = `${localUrl(service, order.payment_url)}/sessions`;
  const { headers } = await admitted(() => post(url, {}, { redirect: 'manual' }));
  expect(headers.get('location')).toBe(pathname);
});
