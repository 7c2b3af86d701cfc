import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { loadDevConfig } from '../dev/config.ts';
import { loadConfig } from '../src/config.ts';
import type { Sql } from '../src/db/client.ts';
import { connectDatabase } from '../src/db/client.ts';
import type { Command, OrderState } from '../src/domain/index.ts';
import { createOrder, decide } from '../src/domain/index.ts';
import { createVersionRegistry } from '../src/http/versions.ts';
import { readDevFacts } from '../dev/dev-facts.ts';
import { SetupError } from '../src/setup-error.ts';
import { createOrderPresenter } from '../src/orders/presenter.ts';
import { createStepRecorder, readOrder } from '../src/orders/record-step.ts';
import { DEFAULT_DENIED_PORTS } from '../src/webhooks/address-guard.ts';
import { createAttemptLog } from '../src/webhooks/attempt-log.ts';
import { attemptScheduled } from '../src/webhooks/deliver.ts';
import { createSecretBox } from '../src/secret-box.ts';
import { createWebhookSender } from '../src/webhooks/sender.ts';
import { registerMerchant, writeOrder } from './fixtures.ts';
import { timed } from './load.ts';

const CONCURRENCY = 32;
const WEBHOOKS_PER_ROUND = 2000;
/** ORDER_CREATED and ORDER_CANCELLED. */
const WEBHOOKS_PER_ORDER = 2;
const ROUNDS = 4;
const TARGET_RATIO = 0.5;
/** From this number of rounds on, the last fifth must be about as fast as the first one. */
const ROUNDS_TO_COMPARE = 20;
const TARGET_FLATNESS = 0.8;
const SECRET = 'whsec_benchmark';
const DAY_MS = 24 * 3_600_000;

/**
 * Compares deliveries per second, each leased in the database, signed, sent through the address guard
 * and recorded, with a bare loop of signed POSTs (Node's `fetch`) to the same local receiver, in
 * alternation. They are the webhooks of cancelled orders, which have no further steps.
 *
 * @param args `--deliveries 100000`: their number, to check that the rate does not decline
 */
export async function run(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { deliveries: { type: 'string' } } });
  const rounds = Math.ceil(
    Number(values.deliveries ?? ROUNDS * WEBHOOKS_PER_ROUND) / WEBHOOKS_PER_ROUND,
  );
  if (!(rounds >= 1)) throw new SetupError('--deliveries takes a whole number');
  const service = openService();
  const receiver = await startReceiver();
  const merchantId = await createEndpoint(service, receiver.url);
  console.log(`${rounds} rounds of ${WEBHOOKS_PER_ROUND} each, concurrency ${CONCURRENCY}\n`);
  console.log('round     deliveries   bare signed POSTs');
  const measured: RoundSeconds[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const seconds = await measureRound(service, merchantId, receiver.url);
    const rates = [seconds.delivery, seconds.bare].map((time) =>
      (WEBHOOKS_PER_ROUND / time).toFixed(0),
    );
    console.log(`${round === 0 ? 'warm-up' : round}\t  ${rates[0]}/s\t\t${rates[1]}/s`);
    if (round > 0) measured.push(seconds);
  }
  const isGood = [isFastEnough(measured), rounds < ROUNDS_TO_COMPARE || isFlat(measured)];
  if (isGood.includes(false)) process.exitCode = 1;
}

interface RoundSeconds {
  delivery: number;
  bare: number;
}

type Service = ReturnType<typeof openService>;

/** The dependencies of webhook deliveries, for the service that runs on the same DATA_DIR. */
function openService() {
  const config = loadConfig(readDevFacts(loadDevConfig().dataDir).environment);
  const sql = connectDatabase(config.databaseUrl ?? '', { name: 'bench', maxConnections: 20 });
  const present = createOrderPresenter(config.publicBaseUrl);
  return {
    sql,
    durations: config.durations,
    present,
    recordStep: createStepRecorder({ sql, present }),
    attempts: createAttemptLog(sql),
    sender: createWebhookSender({
      allowedCidrs: ['127.0.0.0/8'],
      deniedPorts: DEFAULT_DENIED_PORTS,
      // One receiver gets all webhooks: on a busy machine they wait longer than the default.
      queueTimeoutMs: 60_000,
    }),
    secretBox: createSecretBox(config.webhookSecretKeys ?? ''),
    apiVersion: createVersionRegistry().current,
    retryDelaysMs: config.webhookRetryDelaysMs,
    log: pino({ level: 'warn' }),
  };
}

async function measureRound(
  service: Service,
  merchantId: string,
  url: string,
): Promise<RoundSeconds> {
  const count = WEBHOOKS_PER_ROUND;
  await timed({ count: count / WEBHOOKS_PER_ORDER, concurrency: CONCURRENCY }, () =>
    writeCancelledOrder(service, merchantId),
  );
  const { ids, body } = await pendingDeliveries(service.sql, merchantId);
  const bare = await timed({ count, concurrency: CONCURRENCY }, () => postBare(url, body));
  const delivery = await timed({ count, concurrency: CONCURRENCY }, async (index) => {
    const { outcome } = await attemptScheduled(service, ids[index] ?? '');
    if (outcome !== 'delivered') throw new Error(`A delivery was ${outcome}`);
  });
  return { delivery, bare };
}

/** Writes a cancelled order as the service does; its two webhooks are pending. */
async function writeCancelledOrder(service: Service, merchantId: string): Promise<void> {
  const { sql, recordStep } = service;
  const paymentLinkMs = DAY_MS;
  const order = await writeOrder(merchantId, { ...service, paymentLinkMs });
  const createdAtMs = order.createdAt.getTime();
  const { state } = createOrder(order.terms, createdAtMs, createdAtMs + paymentLinkMs);
  const closing = changeBy(state, { type: 'cancel' });
  const closed = changeBy(
    { ...state, pendingOperation: closing.state.pendingOperation },
    { type: 'sessionClosed' },
  );
  await recordStep({ orderNumber: order.orderNumber, step: closed.step });
  // Reading a final order marks it as started, so the sweep does not start a workflow.
  await readOrder(sql, { orderNumber: order.orderNumber, afterStep: closed.step.number });
}

function changeBy(state: OrderState, command: Command) {
  const decision = decide(state, command, Date.now());
  if (decision.outcome === 'refused') throw decision.error;
  return decision;
}

async function pendingDeliveries(sql: Sql, merchantId: string) {
  const rows = await sql<{ deliveryId: string; body: string }[]>`
    SELECT d.delivery_id, e.body FROM webhook_deliveries d JOIN order_events e USING (event_id)
    WHERE d.merchant_id = ${merchantId} AND d.state = 'PENDING'
    ORDER BY d.delivery_id`;
  return { ids: rows.map(({ deliveryId }) => deliveryId), body: rows[0]?.body ?? '' };
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

const totalOf = (rounds: readonly RoundSeconds[], name: keyof RoundSeconds) =>
  rounds.reduce((sum, round) => sum + round[name], 0);

function isFastEnough(rounds: readonly RoundSeconds[]): boolean {
  const ratio = totalOf(rounds, 'bare') / totalOf(rounds, 'delivery');
  console.log(`\nDeliveries reach ${ratio.toFixed(2)} of the bare rate (at least ${TARGET_RATIO})`);
  return ratio >= TARGET_RATIO;
}

/** Compares the ratios to the bare loop, so that other load on the machine affects both. */
function isFlat(rounds: readonly RoundSeconds[]): boolean {
  const fifth = Math.floor(rounds.length / 5);
  const [first, last] = [rounds.slice(0, fifth), rounds.slice(-fifth)].map(
    (part) => totalOf(part, 'bare') / totalOf(part, 'delivery'),
  );
  const flatness = (last ?? 0) / (first ?? 0);
  console.log(
    `The last fifth is at ${flatness.toFixed(2)} of the first one (at least ${TARGET_FLATNESS})`,
  );
  return flatness >= TARGET_FLATNESS;
}

async function startReceiver() {
  const server = createServer((incoming, answer) => {
    incoming.resume().once('end', () => answer.writeHead(200).end());
  }).listen(0, '127.0.0.1');
  // Keeps connections open while the next round's orders are written.
  server.keepAliveTimeout = 0;
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

/** Registers a merchant with a webhook endpoint. @returns its id */
async function createEndpoint({ sql, secretBox }: Service, url: string): Promise<string> {
  const merchantId = await registerMerchant(sql);
  const sealed = secretBox.seal(SECRET, [merchantId, 'sandbox', 'webhook_secret']);
  await sql`
    INSERT INTO merchant_environments (merchant_id, environment, webhook_url, webhook_secret_sealed)
    VALUES (${merchantId}, 'sandbox', ${url}, ${sealed})`;
  return merchantId;
}
