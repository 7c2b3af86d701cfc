import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ReceivedSpan } from '../../dev/canaries/otlp-receiver.ts';
import { startOtlpReceiver } from '../../dev/canaries/otlp-receiver.ts';
import { anOrder } from '../support/api-client.ts';
import { startApiProcess } from '../support/api-process.ts';
import { linesIn } from '../support/log-lines.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const [INTERNAL, SERVER, CLIENT] = [1, 2, 3];
const ORDERS = '/sandbox/api/merchant/v1/orders';
const [API, WORKER] = ['payment-order-service-api', 'payment-order-service-worker'];

/** The API and a worker as processes of their own, which send their spans to the test. */
const test = serviceTest({
  time: 'real',
  worker: false,
  settings: { COMPLETION_WINDOW_SECONDS: '1' },
})
  .extend('collector', { scope: 'file' }, async ({ service: _service }, { onCleanup }) => {
    const collector = await startOtlpReceiver();
    onCleanup(() => collector.stop());
    return collector;
  })
  .extend('processes', { scope: 'file' }, async ({ service, collector }, { onCleanup }) => {
    const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, LOG_LEVEL: 'info' };
    const folder = mkdtempSync(join(tmpdir(), 'merchant-orders-traces-'));
    const workerLog = join(folder, 'worker.log');
    const output = openSync(workerLog, 'a');
    const api = await startApiProcess(service, { ...settings, COMPLETION_WINDOW_SECONDS: '1' });
    const worker = await startWorkerProcess(service, { settings, output });
    onCleanup(async () => {
      await api.stop();
      await worker.kill();
      closeSync(output);
      rmSync(folder, { recursive: true });
    });
    return { api, apiLog: api.logFile, workerLog };
  });

/** The first span of that name; of several, the one with the parent. */
function find(spans: readonly ReceivedSpan[], name: string, parent?: ReceivedSpan): ReceivedSpan {
  const found = spans.find(
    (span) => span.name === name && (parent === undefined || span.parentSpanId === parent.spanId),
  );
  const names = spans.map((span) => span.name).join('\n');
  if (!found) throw new Error(`No span ${name} below ${parent?.name}:\n${names}`);
  return found;
}

/** A `traceparent` of a client, with a state and baggage that must not be passed on. */
function clientTrace() {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  const headers = {
    traceparent: `00-${traceId}-${spanId}-01`,
    tracestate: 'shop=asha-in-tracestate',
    baggage: 'buyer=asha-in-baggage',
  };
  return { traceId, spanId, headers };
}

test('one trace reaches from the HTTP request over workflow and activities to gateway and webhooks', async ({
  merchant,
  collector,
  processes,
}) => {
  const client = clientTrace();
  const api = processes.api.as(merchant.keys);
  const { body } = await api.post('/orders', anOrder(), client.headers);
  const { order_number: orderNumber } = body.data;
  await api.help(body.data, 'pay');
  await api.post(`/orders/${orderNumber}/deliver`, {}, client.headers);
  await api.untilStatus(body.data, 'COMPLETED');
  const ofTrace = () => collector.spans().filter(({ traceId }) => traceId === client.traceId);
  // A workflow's span ends with the workflow.
  await until(() => ofTrace().some(({ name }) => name === 'RunWorkflow:order'));
  await until(() => ofTrace().some(({ name }) => name === 'HandleUpdate:deliver'));
  await until(() => ofTrace().some(({ name }) => name === `POST ${ORDERS}/{id}/deliver`));
  const isLastWebhook = ({ attributes }: ReceivedSpan) =>
    attributes['webhook.event'] === 'ORDER_COMPLETED';
  await until(() => ofTrace().some(isLastWebhook));

  const spans = ofTrace();
  const request = find(spans, `POST ${ORDERS}`);
  expect(request).toMatchObject({
    service: API,
    kind: SERVER,
    parentSpanId: client.spanId,
    attributes: {
      'http.request.method': 'POST',
      'http.route': ORDERS,
      'http.response.status_code': 201,
      'order.number': orderNumber,
      'merchant.id': merchant.merchantId,
      environment: 'sandbox',
    },
  });
  const start = find(spans, 'StartWorkflow:order', request);
  expect(start).toMatchObject({ service: API, attributes: { temporalWorkflowId: orderNumber } });
  const workflow = find(spans, 'RunWorkflow:order', start);
  expect(workflow).toMatchObject({
    service: WORKER,
    kind: INTERNAL,
    attributes: { workflowId: orderNumber },
  });

  const recording = find(spans, 'StartActivity:recordStep', workflow);
  const release = find(spans, 'StartActivity:releaseFunds', workflow);
  const releasing = find(spans, 'RunActivity:releaseFunds', release);
  find(spans, 'RunActivity:recordStep', recording);
  const call = 'POST /v1/payments/{id}/transfers';
  const gateway = spans.filter(({ attributes }) => attributes['gateway.operation'] !== undefined);
  expect(find(gateway, `razorpay ${call}`)).toMatchObject({
    service: WORKER,
    kind: CLIENT,
    parentSpanId: releasing.spanId,
    attributes: { gateway: 'razorpay', outcome: 'done', 'http.response.status_code': 200 },
  });

  const activities = new Map(
    spans.filter(({ name }) => name.startsWith('RunActivity:')).map((span) => [span.spanId, span]),
  );
  const webhooks = spans.filter(({ name }) => name.startsWith('webhook '));
  expect(webhooks.map(({ attributes }) => attributes['webhook.event'])).toEqual(
    expect.arrayContaining([
      'ORDER_CREATED',
      'PAYMENT_SUCCESS',
      'DELIVERY_CONFIRMED',
      'ORDER_COMPLETED',
    ]),
  );
  for (const webhook of webhooks) {
    expect(webhook).toMatchObject({
      kind: CLIENT,
      attributes: { 'order.number': orderNumber, outcome: 'delivered' },
    });
    expect(activities.has(webhook.parentSpanId ?? '')).toBe(true);
  }

  const deliver = find(spans, `POST ${ORDERS}/{id}/deliver`);
  const update = find(spans, 'StartWorkflowUpdate:deliver', deliver);
  expect(find(spans, 'HandleUpdate:deliver', update).service).toBe(WORKER);
});

test('nothing of a trace reaches a merchant’s endpoint', async ({ merchant }) => {
  const names = merchant.receiver.received.flatMap(({ headers }) => Object.keys(headers));
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => /trace|baggage|b3/i.test(name))).toEqual([]);
});

test('spans contain no text of clients: neither state nor baggage, neither tokens nor data of buyers', async ({
  service,
  merchant,
  collector,
  processes,
}) => {
  const api = processes.api.as(merchant.keys);
  const { headers, traceId } = clientTrace();
  const { body } = await api.post('/orders', anOrder(), headers);
  const token = new URL(body.data.payment_url).pathname.split('/').at(-1);
  await fetch(`${processes.api.origin}/pay/${token}?email=asha@example.com`, { headers });
  const ofTrace = () => collector.spans().filter((span) => span.traceId === traceId);
  await until(() => ofTrace().some(({ name }) => name === 'GET /pay/{token}'));
  const texts = collector.text();
  expect(texts).toContain(body.data.order_number);
  for (const text of [
    token,
    'asha-in',
    'asha@example.com',
    '9876543210',
    'kurta',
    merchant.keys.sandbox.apiSecret,
  ]) {
    expect(texts).not.toContain(text);
  }
  // Temporal keeps what the client's interceptor sends with the start.
  const { events } = await service.temporal.client.workflow
    .getHandle(body.data.order_number)
    .fetchHistory();
  const { fields } = events?.[0]?.workflowExecutionStartedEventAttributes?.header ?? {};
  const carried = Buffer.from(fields?.['_tracer-data']?.data ?? []).toString();
  expect(JSON.parse(carried)).toEqual({ traceparent: expect.stringContaining(traceId) });
});

test('log lines of a request and of its activities carry the ids of the trace', async ({
  merchant,
  processes,
}) => {
  const { headers, traceId } = clientTrace();
  const api = processes.api.as(merchant.keys);
  const { body } = await api.post('/orders', anOrder(), headers);
  const ofOrder = (file: string) =>
    linesIn(file).filter(({ orderNumber }) => orderNumber === body.data.order_number);
  const requests = await until(() => {
    const lines = ofOrder(processes.apiLog).filter(({ msg }) => msg === 'request');
    return lines.length > 0 && lines;
  });
  expect(requests).toEqual([
    expect.objectContaining({
      trace_id: traceId,
      span_id: expect.stringMatching(/^[0-9a-f]{16}$/),
    }),
  ]);
});
