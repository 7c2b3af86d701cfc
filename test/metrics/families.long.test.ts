import { expect } from 'vitest';
import { startTcpProxy } from '../../dev/processes/tcp-proxy.ts';
import { connectTemporal } from '../../src/temporal/client.ts';
import { serviceTest } from '../support/service-test.ts';
import { samplesOf } from './scraping.ts';
import { serveMetrics } from './served-metrics.ts';

const test = serviceTest({ time: 'real' });

test('a scrape answers while PostgreSQL and Temporal do not, and has the rest', async ({
  service,
}) => {
  const databaseUrl = new URL(service.config.databaseUrl ?? '');
  const postgres = await startTcpProxy(databaseUrl.host);
  const server = await startTcpProxy(service.temporal.address);
  databaseUrl.host = postgres.address;
  const { namespace } = service.temporal;
  const temporal = connectTemporal({ address: server.address, namespace });
  const metrics = await serveMetrics(service, { databaseUrl: databaseUrl.href, temporal });
  const families = async () => {
    const names = samplesOf(await metrics.scrape()).map(({ name }) => name);
    return [
      'payment_order_service_orders',
      'payment_order_service_alerts_open',
      'payment_order_service_reconciliation_lag_seconds',
      'payment_order_service_task_queue_backlog',
      'payment_order_service_webhook_attempts_total',
    ].filter((name) => names.includes(name));
  };
  // On a busy machine the first scrapes may find no answer in time, and log it.
  await expect.poll(families).toHaveLength(5);
  const loggedBefore = service.logged.length;
  postgres.hang();
  server.hang();
  // The scrape answers while both servers hang. The counts of orders are those of up to half a minute ago.
  const remaining = [
    'payment_order_service_orders',
    'payment_order_service_webhook_attempts_total',
  ];
  expect(await families()).toEqual(remaining);
  expect(await families()).toEqual(remaining);
  const lines = service.logged
    .slice(loggedBefore)
    .filter(({ msg }) => msg === 'The metrics could not be read');
  expect(lines.map((line) => String('what' in line && line.what)).toSorted()).toEqual([
    'the lag of the reconciliation',
    'the oldest due webhook',
    'the open alerts',
    'the proof of the ledger',
    'the task queues',
  ]);
  await postgres.forward();
  await server.forward();
  await expect.poll(families).toHaveLength(5);
  await metrics.stop();
  await Promise.all([postgres.stop(), server.stop()]);
});
