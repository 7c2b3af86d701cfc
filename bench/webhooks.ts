import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import postgres from 'postgres';
import { pino } from 'pino';
import { migrate } from '../src/db/migrate.ts';
import { connectDatabase } from '../src/db/client.ts';
import { firstChange, decide, WEBHOOK_RETRY_DELAYS_MS } from '../src/domain/index.ts';
import { createVersionRegistry } from '../src/http/versions.ts';
import { createOrderPresenter } from '../src/orders/presenter.ts';
import { createStepRecorder, readOrder } from '../src/orders/steps/record-step.ts';
import { DEFAULT_DENIED_PORTS } from '../src/webhooks/sending/address-guard.ts';
import { createAttemptLog } from '../src/webhooks/schedule/attempt-log.ts';
import { attemptScheduled } from '../src/webhooks/schedule/leased-attempts.ts';
import { createSecretBox } from '../src/secret-box.ts';
import { createWebhookSender } from '../src/webhooks/sending/sender.ts';
import { DAY_MS, DURATIONS, registerMerchant, writeOrder } from './fixtures.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { alternate, ratePerSecond, ratioOf, timed } from './harness/rounds.ts';
import { startDatabase, withWorkplace } from './servers.ts';

const CONCURRENCY = 32;
/** ORDER_CREATED and ORDER_CANCELLED. */
const WEBHOOKS_PER_ORDER = 2;
const WEBHOOKS_PER_ROUND = { full: 2000, quick: 600 };
const EARLIER = { full: 100_000, quick: 6000 };
const EARLIER_PER_BATCH = 2000;
const TARGET_RATIO = 0.75;
const TARGET_FLATNESS = 0.9;
const SECRET = 'whsec_benchmark';

/** Webhook deliveries against a bare loop of signed POSTs, without and with earlier deliveries. */
export const benchmark: Benchmark = {
  description:
    'Deliveries of webhooks against bare signed POSTs to the same receiver, 32 at a time, without and after 100,000 earlier deliveries.',
  run: ({ quick }) =>
    withWorkplace(async (place) => {
      const size = quick ? 'quick' : 'full';
      const count = WEBHOOKS_PER_ROUND[size];
      const server = await startDatabase(place);
      const receiver = await startReceiver();
      const empty = await openService(server.adminUrl, 'webhooks_empty', receiver.url);
      const full = await openService(server.adminUrl, 'webhooks_full', receiver.url);
      for (let made = 0; made < EARLIER[size]; made += EARLIER_PER_BATCH) {
        await sendWebhooks(full, EARLIER_PER_BATCH);
      }
      await full.sql`VACUUM ANALYZE`;
      const body = await exampleBody(full);
      const rates = await alternate({
        bare: () =>
          ratePerSecond({ count, concurrency: CONCURRENCY }, () => postBare(receiver.url, body)),
        none: () => sendWebhooks(empty, count),
        earlier: () => sendWebhooks(full, count),
      });
      await Promise.all([empty.close(), full.close()]);
      receiver.stop();
      await server.stop();
      const earlier = EARLIER[size].toLocaleString('en');
      const unit = 'per second';
      return {
        measurements: [
          { id: 'deliveries', title: 'deliveries', unit, rounds: rates.none },
          { id: 'earlier', title: `deliveries after ${earlier}`, unit, rounds: rates.earlier },
          { id: 'bare', title: 'bare signed POSTs', unit, rounds: rates.bare },
          ratioOf({ id: 'ratio', title: 'deliveries against bare POSTs' }, rates.none, rates.bare),
          ratioOf(
            { id: 'flatness', title: `deliveries after ${earlier} against after none` },
            rates.earlier,
            rates.none,
          ),
        ],
        targets: [
          { of: 'ratio', atLeast: TARGET_RATIO },
          { of: 'flatness', atLeast: TARGET_FLATNESS },
        ],
      };
    }),
};

/** A database of the server with the parts of the service that write orders and send webhooks. */
async function openService(adminUrl: string, database: string, receiverUrl: string) {
  const admin = postgres(adminUrl, { max: 1 });
  await admin`CREATE DATABASE ${admin(database)}`;
  await admin.end();
  const url = new URL(adminUrl);
  url.pathname = `/${database}`;
  await migrate(url.href);
  const sql = connectDatabase(url.href, {
    name: 'bench',
    maxConnections: 20,
    statementTimeoutMs: 0,
  });
  const present = createOrderPresenter('http://127.0.0.1');
  const secretBox = createSecretBox(`bench:${randomBytes(32).toString('base64')}`);
  const sender = createWebhookSender({
    allowedCidrs: ['127.0.0.0/8'],
    deniedPorts: DEFAULT_DENIED_PORTS,
    // One receiver gets all webhooks: on a busy machine they wait longer than the default.
    queueTimeoutMs: 60_000,
  });
  const merchantId = await registerMerchant(sql);
  const sealed = secretBox.seal(SECRET, [merchantId, 'sandbox', 'webhook_secret']);
  await sql`
    INSERT INTO merchant_environments (merchant_id, environment, webhook_url, webhook_secret_sealed)
    VALUES (${merchantId}, 'sandbox', ${receiverUrl}, ${sealed})`;
  return {
    sql,
    merchantId,
    present,
    recordStep: createStepRecorder({ sql, present, firstAttempt: { wakeAfterMs: DAY_MS } }),
    attemptLog: createAttemptLog(sql),
    sender,
    secretBox,
    apiVersion: createVersionRegistry().current,
    retryDelaysMs: WEBHOOK_RETRY_DELAYS_MS,
    log: pino({ level: 'warn' }),
    close: () => Promise.all([sender.close(), sql.end({ timeout: 1 })]),
  };
}
type Service = Awaited<ReturnType<typeof openService>>;

/** Writes cancelled orders and sends their webhooks. @returns deliveries per second */
async function sendWebhooks(service: Service, count: number): Promise<number> {
  const orders = { count: count / WEBHOOKS_PER_ORDER, concurrency: CONCURRENCY };
  await timed(orders, () => writeCancelledOrder(service));
  const ids = await pendingDeliveries(service);
  if (ids.length !== count) throw new Error(`${ids.length} deliveries are pending, not ${count}`);
  return ratePerSecond({ count, concurrency: CONCURRENCY }, async (index) => {
    const { outcome } = await attemptScheduled(service, ids[index] ?? '');
    if (outcome !== 'accepted') throw new Error(`A delivery was ${outcome}`);
  });
}

/** Writes a cancelled order as the service does; its two webhooks are pending. */
async function writeCancelledOrder(service: Service): Promise<void> {
  const { sql, recordStep, merchantId } = service;
  const order = await writeOrder(service, merchantId);
  const createdAtMs = order.createdAt.getTime();
  const { state } = firstChange(order.terms, createdAtMs, createdAtMs + DURATIONS.paymentLinkMs);
  const { orderNumber } = order;
  const decision = decide(state, { type: 'cancel' }, Date.now());
  if (decision.outcome === 'refused') throw decision.error;
  // No payment session is open.
  const { step, ifNoSessionOpen: cancelled = step } = decision;
  await recordStep({ orderNumber, step: cancelled });
  // Reading a final order marks it as started, so the sweep does not start a workflow.
  await readOrder(sql, { orderNumber, afterStep: cancelled.number });
}

async function pendingDeliveries({ sql, merchantId }: Service): Promise<string[]> {
  const rows = await sql<{ deliveryId: string }[]>`
    SELECT delivery_id FROM webhook_deliveries
    WHERE merchant_id = ${merchantId} AND state = 'PENDING' ORDER BY delivery_id`;
  return rows.map(({ deliveryId }) => deliveryId);
}

/** The body of one of the service's webhooks, which the bare loop sends. */
async function exampleBody({ sql }: Service): Promise<string> {
  const [row] = await sql<{ body: string }[]>`SELECT body FROM order_events LIMIT 1`;
  return row?.body ?? '';
}

async function postBare(url: string, body: string): Promise<void> {
  const timestamp = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', SECRET).update(`${timestamp}.${body}`).digest('hex');
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-service-signature': signature,
      'x-service-timestamp': String(timestamp),
    },
    body,
  });
  await answer.arrayBuffer();
}

async function startReceiver() {
  const server = createServer((incoming, answer) => {
    incoming.resume().once('end', () => answer.writeHead(200).end());
  }).listen(0, '127.0.0.1');
  // Keeps connections open while the next round's orders are written.
  server.keepAliveTimeout = 0;
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
