import { expect, onTestFinished } from 'vitest';
import { startApiInstance } from '../support/api-instance.ts';
import { serviceTest } from '../support/service-test.ts';
import { installStoppedClock } from '../support/stopped-clock.ts';
import { expectTooManyRequests } from './expectations.ts';

const LIMIT = 10;

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } });

test('two APIs that share PostgreSQL share one limit for each forwarded address; more are 429 with exactly the specified body', async ({
  service,
  merchant,
}) => {
  const { sql, env } = service;
  const settings = {
    DATABASE_URL: (await installStoppedClock({ sql, url: env.DATABASE_URL })).url,
    RATE_LIMIT_PER_SECOND: String(LIMIT),
    RATE_LIMIT_STORE: 'postgres',
    TRUSTED_PROXIES: '127.0.0.1',
  };
  const first = await startApiInstance(service, settings);
  onTestFinished(first.stop);
  const second = await startApiInstance(service, settings);
  onTestFinished(second.stop);
  const ask = (index: number, address: string) =>
    (index % 2 === 0 ? first : second)
      .as(merchant.keys)
      .call<unknown>('GET', '/orders?size=1', undefined, { 'X-Forwarded-For': address });
  const burst = Array.from({ length: 40 }, (_, index) => ask(index, '203.0.113.1'));
  const answers = await Promise.all(burst);
  expect(answers.filter(({ status }) => status !== 429)).toHaveLength(LIMIT);
  expectTooManyRequests(answers);
  expect((await ask(0, '203.0.113.2')).status).toBe(200);
});
