import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject } from 'vitest';
import { RESPOND_WITHIN_MS } from '../../src/payments/captures/callback-route.ts';
import { createCallbackKit } from '../payments/callback-kit.ts';
import { anOrder } from '../support/api-client.ts';
import type { ApiProcess } from '../support/api-process.ts';
import { startApiProcess } from '../support/api-process.ts';
import { sessionOf } from '../support/gateway.ts';
import { linesIn, linesOf } from '../support/log-lines.ts';
import { runPart } from '../support/run-part.ts';
import { stoppedAtEnd } from '../support/fixtures.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';
import { expectSuccess } from './expectations.ts';

const SANDBOX = '/sandbox/api/merchant/v1';
const WARN = 40;
const FATAL = 60;

const test = serviceTest({ time: 'real', merchant: { webhooks: false } }).extend(
  'api',
  { scope: 'file' },
  ({ service }, { onCleanup }) =>
    stoppedAtEnd(startApiProcess(service, { LOG_LEVEL: 'info' }), onCleanup),
);

/** The log lines of one request; each line of the log must be a JSON log object. */
const linesOfRequest = (api: ApiProcess, id: string) =>
  linesIn(api.logFile).filter(({ requestId }) => requestId === id);

test('a request is logged with order number, merchant, route, status, duration and request id', async ({
  merchant,
  api,
}) => {
  const client = api.as(merchant.keys);
  const [creating, reading, lost] = [randomUUID(), randomUUID(), randomUUID()];
  const created = await client.post('/orders', anOrder(), { 'X-Request-Id': creating });
  expectSuccess(created, 201);
  expect(created.headers.get('X-Request-Id')).toBe(creating);
  const { order_number: orderNumber } = created.body.data;
  const { merchantId } = merchant;
  await client.call('GET', `/orders/${orderNumber}`, undefined, { 'X-Request-Id': reading });
  await client.call('GET', '/orders/ORD-none', undefined, { 'X-Request-Id': lost });
  const durationMs = expect.any(Number);
  const request = { msg: 'request', merchantId, durationMs };
  const route = `${SANDBOX}/orders/{id}`;
  await expect
    .poll(() => linesOfRequest(api, creating))
    .toMatchObject([
      { ...request, orderNumber, method: 'POST', route: `${SANDBOX}/orders`, status: 201 },
    ]);
  await expect
    .poll(() => linesOfRequest(api, reading))
    .toMatchObject([{ ...request, orderNumber, method: 'GET', route, status: 200 }]);
  await expect
    .poll(() => linesOfRequest(api, lost))
    .toMatchObject([{ ...request, method: 'GET', route, status: 404 }]);
  expect(linesOfRequest(api, lost)[0]).not.toHaveProperty('orderNumber');
});

test('a buyer’s page is logged with its order, and never with the buyer’s link', async ({
  merchant,
  api,
}) => {
  const order = await api.as(merchant.keys).create();
  const token = new URL(order.payment_url).pathname.split('/').at(-1) ?? '';
  const id = randomUUID();
  const page = await fetch(`${api.origin}/pay/${token}`, { headers: { 'X-Request-Id': id } });
  expect([page.status, page.headers.get('X-Request-Id')]).toEqual([200, id]);
  await expect
    .poll(() => linesOfRequest(api, id))
    .toMatchObject([
      { orderNumber: order.order_number, merchantId: merchant.merchantId, route: '/pay/{token}' },
    ]);
  expect(JSON.stringify(linesIn(api.logFile))).not.toContain(token);
});

test('each gateway call is logged with the request that made it, at warn if it fails', async ({
  service,
  merchant,
  gateway,
  api,
}) => {
  const client = api.as(merchant.keys);
  const order = await client.create();
  const path = `/orders/${order.order_number}/payment-sessions`;
  const [failing, working] = [randomUUID(), randomUUID()];
  const fault = await gateway.addFault({ kind: 'error', status: 503 });
  expect((await client.post(path, {}, { 'X-Request-Id': failing })).status).toBe(502);
  await fault.endFault();
  expect((await client.post(path, {}, { 'X-Request-Id': working })).status).toBe(201);
  const call = {
    orderNumber: order.order_number,
    gateway: 'razorpay',
    method: 'POST',
    route: '/v1/payments/qr_codes',
    durationMs: expect.any(Number),
  };
  const calls = (id: string) =>
    linesOfRequest(api, id).filter((line) => line.gateway !== undefined);
  await expect.poll(() => calls(failing)).toMatchObject([{ ...call, status: 503, level: WARN }]);
  await expect.poll(() => calls(working)).toMatchObject([{ ...call, status: 200, level: 30 }]);
  const { gatewaySessionId } = await sessionOf(service, order);
  const cancelling = randomUUID();
  await client.post(`/orders/${order.order_number}/cancel`, {}, { 'X-Request-Id': cancelling });
  await expect.poll(() => linesOfRequest(api, cancelling)).not.toEqual([]);
  expect(JSON.stringify(linesIn(api.logFile))).not.toContain(gatewaySessionId);
});

test('a gateway’s callback is logged with its order', async ({ service, merchant, api }) => {
  const kit = createCallbackKit(service, merchant);
  const { orderNumber, lines } = await until(async () => {
    const { order, body } = await kit.aPaymentNotYetHeardOf();
    const { status, headers } = await kit.callBack(body, { origin: api.origin });
    expect(status).toBe(200);
    const logged = () => linesOfRequest(api, headers.get('X-Request-Id') ?? '');
    const { durationMs } = await until(() => logged().find(({ msg }) => msg === 'request'));
    // After that time an answer does not wait any longer, and may not know the order.
    return (
      Number(durationMs) < RESPOND_WITHIN_MS && { orderNumber: order.order_number, lines: logged() }
    );
  });
  const about = { orderNumber, merchantId: merchant.merchantId };
  expect(lines).toMatchObject([
    { msg: 'gateway call', route: '/v1/payments/{id}', ...about },
    { msg: 'request', route: '/callbacks/razorpay/sandbox', status: 200, ...about },
  ]);
  await kit.release('as_created');
});

test('the error that ends a process is a line of its log, unless the user at the terminal can repair it', async ({
  service,
}) => {
  const noSuchDatabase = new URL(service.config.databaseUrl ?? '');
  noSuchDatabase.pathname = '/no_such_database';
  const env = { TEMPORAL_ADDRESS: inject('temporalAddress') };
  const unforeseen = await runPart('src/main/migrate.ts', {
    ...env,
    DATABASE_URL: noSuchDatabase.href,
  });
  expect([unforeseen.code, unforeseen.stderr]).toEqual([1, '']);
  expect(linesOf(unforeseen.stdout)).toMatchObject([
    {
      level: FATAL,
      name: 'migrate',
      err: { message: expect.stringContaining('no_such_database') },
    },
  ]);
  const refused = await runPart('src/main/migrate.ts', {
    ...env,
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  });
  expect([refused.code, refused.stdout]).toEqual([1, '']);
  expect(refused.stderr).toMatch(/^[^\n]*check DATABASE_URL and TEMPORAL_ADDRESS\n$/);
  expect(await runPart('src/main/worker.ts', {})).toMatchObject({ code: 1, stdout: '' });
});

test('output of Node and of libraries becomes lines of the log', async ({ service }) => {
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-logs-'));
  const library = join(folder, 'library.mjs');
  const speak = "process.emitWarning('an old API'); console.error('a library says %s', 'hello');";
  await writeFile(library, `process.once('SIGUSR2', () => { ${speak} });`);
  const NODE_OPTIONS = `--import=${library}`;
  const own = await startApiProcess(service, { LOG_LEVEL: 'info', NODE_OPTIONS });
  process.kill(own.pid, 'SIGUSR2');
  const said = (msg: string) => linesIn(own.logFile).filter((line) => line.msg === msg);
  await until(() => said('a library says hello').length > 0 && said('an old API').length > 0);
  await own.stop();
  await rm(folder, { recursive: true });
});
