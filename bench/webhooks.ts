import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ulid } from 'ulid';
import { pino } from 'pino';
import { loadConfig } from '../src/config.ts';
import type { Sql } from '../src/db/client.ts';
import { connectDatabase } from '../src/db/client.ts';
import { createVersionRegistry } from '../src/http/versions.ts';
import { readDevFacts } from '../src/local/dev-facts.ts';
import { changeMerchantStatus, createMerchant } from '../src/merchants/commands.ts';
import { createOrderPresenter } from '../src/orders/presenter.ts';
import { newOrderOf } from '../src/orders/commands.ts';
import { insertOrder } from '../src/orders/queries.ts';
import { DEFAULT_DENIED_PORTS } from '../src/webhooks/address-guard.ts';
import { createAttemptLog } from '../src/webhooks/attempt-log.ts';
import { attemptScheduled } from '../src/webhooks/deliver.ts';
import type { SecretBox } from '../src/webhooks/secret-box.ts';
import { createSecretBox } from '../src/webhooks/secret-box.ts';
import { ORDER, timed, VALID_ORDER } from './load.ts';
import { createWebhookSender } from '../src/webhooks/sender.ts';

const CONCURRENCY = 32;
const WEBHOOKS_A_ROUND = 2000;
const BATCH = { count: WEBHOOKS_A_ROUND, atOnce: CONCURRENCY };
const ROUNDS = 4;
const TARGET_RATIO = 0.5;
const SECRET = 'whsec_benchmark';

/**
 * Deliveries per second, each one taken from the book, signed, sent through the guard and recorded,
 * beside a bare loop of signed POSTs (Node's own `fetch`) to the same local receiver, in turns.
 */
export async function run(): Promise<void> {
  const facts = readDevFacts(loadConfig().dataDir);
  const config = loadConfig(facts.environment);
  const sql = connectDatabase(config.databaseUrl ?? '', { name: 'bench', maxConnections: 20 });
  const secretBox = createSecretBox(config.webhookSecretKeys ?? '');
  const sender = createWebhookSender({
    allowedCidrs: ['127.0.0.0/8'],
    deniedPorts: DEFAULT_DENIED_PORTS,
  });
  const { current: apiVersion } = createVersionRegistry();
  const log = pino({ level: 'warn' });
  const attempts = createAttemptLog(sql);
  const deps = { sql, attempts, sender, secretBox, apiVersion, log };
  const receiver = await startReceiver();
  const merchantId = await enrolMerchant(deps, receiver.url);
  const order = {
    merchantId,
    environment: 'sandbox' as const,
    idempotencyKey: randomUUID(),
    body: VALID_ORDER,
  };
  const present = createOrderPresenter(config.publicBaseUrl);
  const { order: row } = await insertOrder(sql, newOrderOf(order, config.durations), {
    paymentLinkMs: 1000,
    present,
  });

  const bare = async () => {
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = createHmac('sha256', SECRET).update(`${timestamp}.${PAYLOAD}`).digest('hex');
    const answer = await fetch(receiver.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-service-signature': signature,
        'x-service-timestamp': String(timestamp),
      },
      body: PAYLOAD,
    });
    await answer.arrayBuffer();
  };

  const seconds = { delivery: 0, bare: 0 };
  // The order's own ORDER_CREATED is the first.
  let sequence = 1;
  console.log(`${ROUNDS} rounds of ${WEBHOOKS_A_ROUND} each, concurrency ${CONCURRENCY}\n`);
  console.log('round     deliveries   bare signed POSTs');
  for (let round = 0; round <= ROUNDS; round += 1) {
    const ids = await writeDeliveries(deps, row.order_number, merchantId, sequence);
    sequence += WEBHOOKS_A_ROUND;
    const bareSeconds = await timed(BATCH, bare);
    const deliverySeconds = await timed(BATCH, async (index) => {
      const { outcome } = await attemptScheduled(deps, ids[index] ?? '');
      if (outcome !== 'delivered') throw new Error(`A delivery was ${outcome}`);
    });
    const rates = [deliverySeconds, bareSeconds].map((time) =>
      (WEBHOOKS_A_ROUND / time).toFixed(0),
    );
    console.log(`${round === 0 ? 'warm-up' : round}\t  ${rates[0]}/s\t\t${rates[1]}/s`);
    if (round === 0) continue;
    seconds.delivery += deliverySeconds;
    seconds.bare += bareSeconds;
  }
  const ratio = seconds.bare / seconds.delivery;
  console.log(`\nDeliveries reach ${ratio.toFixed(2)} of the bare rate (at least ${TARGET_RATIO})`);
  if (ratio < TARGET_RATIO) process.exitCode = 1;
}

const PAYLOAD = JSON.stringify({
  event: 'ORDER_CREATED',
  data: { ...ORDER, filler: 'x'.repeat(600) },
});

async function startReceiver() {
  const server = createServer((incoming, answer) => {
    incoming.resume().once('end', () => answer.writeHead(200).end());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

async function enrolMerchant(
  { sql, secretBox }: { sql: Sql; secretBox: SecretBox },
  url: string,
): Promise<string> {
  const admin = { sql, actor: 'bench' };
  const merchant = { name: 'Benchmark', email: 'bench@example.com' };
  const { merchant_id: merchantId } = await createMerchant(admin, merchant);
  await changeMerchantStatus(admin, merchantId, 'approve');
  const sealed = secretBox.seal(SECRET, [merchantId, 'sandbox', 'webhook_secret']);
  await sql`
    INSERT INTO merchant_environments (merchant_id, environment, webhook_url, webhook_secret_sealed)
    VALUES (${merchantId}, 'sandbox', ${url}, ${sealed})`;
  return merchantId;
}

/** Events and deliveries as `record_step` writes them, many at once. */
async function writeDeliveries(
  { sql }: { sql: Sql },
  orderNumber: string,
  merchantId: string,
  from: number,
): Promise<string[]> {
  const events = Array.from({ length: WEBHOOKS_A_ROUND }, (_, index) => ({
    event_id: `evt_${ulid()}`,
    order_number: orderNumber,
    sequence: from + index + 1,
    step_number: from + index + 1,
    type: 'ORDER_CREATED',
    at: new Date(),
    body: PAYLOAD,
  }));
  const deliveries = events.map(({ event_id }) => ({
    delivery_id: `dlv_${ulid()}`,
    event_id,
    merchant_id: merchantId,
    environment: 'sandbox',
    next_attempt_at: new Date(),
  }));
  await sql`INSERT INTO order_events ${sql(events)}`;
  await sql`INSERT INTO webhook_deliveries ${sql(deliveries)}`;
  return deliveries.map(({ delivery_id }) => delivery_id);
}
