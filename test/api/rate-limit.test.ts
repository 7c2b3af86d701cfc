import { expect } from 'vitest';
import type { ApiClient } from '../support/api-client.ts';
import type { ApiInstance } from '../support/api-instance.ts';
import { startApiInstance } from '../support/api-instance.ts';
import { once, stoppedAtEnd } from '../support/fixtures.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { installStoppedClock } from '../support/stopped-clock.ts';
import { expectTooManyRequests } from './expectations.ts';

const LIMIT = 10;

/** The clock of the limit, which two APIs share: it is stopped unless a test moves it. */
const clockOf = once(({ sql, env }: TestService) =>
  installStoppedClock({ sql, url: env.DATABASE_URL }),
);
const startLimited = async (service: TestService) =>
  startApiInstance(service, {
    DATABASE_URL: (await clockOf(service)).url,
    RATE_LIMIT_PER_SECOND: String(LIMIT),
    RATE_LIMIT_STORE: 'postgres',
    TRUSTED_PROXIES: '127.0.0.1',
  });

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } })
  .extend('clock', { scope: 'file' }, ({ service }) => clockOf(service))
  .extend('first', { scope: 'file' }, ({ service }, { onCleanup }) =>
    stoppedAtEnd(startLimited(service), onCleanup),
  )
  .extend('second', { scope: 'file' }, ({ service }, { onCleanup }) =>
    stoppedAtEnd(startLimited(service), onCleanup),
  );

let clients = 0;
/** An address that no other test uses: each address has a separate limit. */
const freshAddress = () => `203.0.113.${(clients += 1)}`;
const ask = (client: ApiClient, address: string, path = '/orders?size=1') =>
  client.call<unknown>('GET', path, undefined, { 'X-Forwarded-For': address });
const admitted = (answers: readonly { status: number }[]) =>
  answers.filter(({ status }) => status !== 429).length;

const burst = (merchant: Merchant, count: number, apis: readonly ApiInstance[], address: string) =>
  Promise.all(
    Array.from({ length: count }, (_, index) => {
      const api = apis[index % apis.length] as ApiInstance;
      return ask(api.as(merchant.keys), address);
    }),
  );

test('two APIs that share PostgreSQL share one limit; more are 429 with exactly the specified body', async ({
  merchant,
  first,
  second,
}) => {
  const answers = await burst(merchant, 40, [first, second], freshAddress());
  expect(admitted(answers)).toBe(LIMIT);
  expectTooManyRequests(answers);
});

test('every address has its own limit; an IPv6 client has one for the whole /64', async ({
  merchant,
  first,
}) => {
  const oneCustomer = Array.from({ length: 30 }, (_, index) => `2001:db8:1:2::${index + 1}`);
  const client = first.as(merchant.keys);
  const answers = await Promise.all(oneCustomer.map((address) => ask(client, address)));
  expect(admitted(answers)).toBe(LIMIT);
  expect((await ask(client, '2001:db8:1:3::1')).status).toBe(200);
  expect((await ask(client, freshAddress())).status).toBe(200);
});

test('a forwarded address is accepted only from a configured proxy', async ({
  service,
  merchant,
  clock,
}) => {
  const direct = await startApiInstance(service, {
    DATABASE_URL: clock.url,
    RATE_LIMIT_PER_SECOND: String(LIMIT),
    RATE_LIMIT_STORE: 'postgres',
  });
  const client = direct.as(merchant.keys);
  const asked = Array.from({ length: 30 }, () => ask(client, freshAddress()));
  const answers = await Promise.all(asked);
  await direct.stop();
  expect(admitted(answers)).toBe(LIMIT);
});
