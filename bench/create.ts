import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { loadDevConfig } from '../dev/config.ts';
import { loadConfig } from '../src/config.ts';
import type { Sql } from '../src/db/client.ts';
import { connectDatabase } from '../src/db/client.ts';
import { readDevFacts } from '../dev/dev-facts.ts';
import { freePort } from '../dev/processes/ports.ts';
import { changeMerchantStatus, createMerchant } from '../src/merchants/commands.ts';
import { createKeyPair } from '../src/merchants/keys.ts';
import type { OrderRow } from '../src/orders/rows.ts';
import { insertOrder } from '../src/orders/insert-order.ts';
import { createOrderPresenter } from '../src/orders/presenter.ts';
import { newOrderOf } from '../src/orders/create-order.ts';
import { orderInputOf } from '../src/orders/recovery.ts';
import { connectTemporal } from '../src/temporal/client.ts';
import { ORDER, timed, VALID_ORDER } from './load.ts';
import { createOrderWorkflows } from '../src/temporal/order-workflows.ts';

const CONCURRENCY = 32;
const ORDERS_PER_ROUND = 500;
const BATCH = { count: ORDERS_PER_ROUND, concurrency: CONCURRENCY };
const ROUNDS = 4;
/** The orders of a benchmark end by themselves soon. */
const PAYMENT_LINK_SECONDS = 120;
const TARGET_RATIO = 0.8;

/**
 * POST /orders beside a bare `client.workflow.start` of the same workflow on the same server, in
 * turns, against the service that runs on the same DATA_DIR. The API is a process of its own, as it
 * is in service, but without the rate limit; the bare starts have their rows written beforehand.
 */
export async function run(): Promise<void> {
  const facts = readDevFacts(loadDevConfig().dataDir);
  const config = loadConfig(facts.environment);
  const sql = connectDatabase(config.databaseUrl ?? '', { name: 'bench' });
  const { temporalAddress: address = '', temporalNamespace: namespace } = config;
  const workflows = createOrderWorkflows(connectTemporal({ address, namespace }));
  const admin = { sql, pepper: config.apiSecretPepper ?? '', actor: 'bench' };
  const merchant = { name: 'Benchmark', email: 'bench@example.com' };
  const { merchantId } = await createMerchant(admin, merchant);
  await changeMerchantStatus(admin, merchantId, 'approve');
  const keys = await createKeyPair(admin, merchantId, 'sandbox');
  const api = await startApi(facts.environment);

  const dispatcher = new Agent({ connections: CONCURRENCY });
  const post = async () => {
    const answer = await request(`${api.url}${facts.sandboxBasePath}/orders`, {
      method: 'POST',
      dispatcher,
      headers: {
        'content-type': 'application/json',
        'x-api-key': keys.apiKey,
        'x-api-secret': keys.apiSecret,
      },
      body: JSON.stringify(ORDER),
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 201) throw new Error(`POST /orders: ${answer.statusCode} ${text}`);
  };
  const writeRow = async () => {
    const idempotencyKey = randomUUID();
    const order = {
      merchantId,
      environment: 'sandbox' as const,
      idempotencyKey,
      body: VALID_ORDER,
    };
    const row = newOrderOf(order, config.durations);
    const present = createOrderPresenter(config.publicBaseUrl);
    return (await insertOrder(sql, row, { paymentLinkMs: PAYMENT_LINK_SECONDS * 1000, present }))
      .order;
  };

  const seconds = { post: 0, start: 0 };
  console.log(`${ROUNDS} rounds of ${ORDERS_PER_ROUND} each, concurrency ${CONCURRENCY}\n`);
  console.log('round   POST /orders   bare start');
  for (let round = 0; round <= ROUNDS; round += 1) {
    const rows = await Promise.all(Array.from({ length: ORDERS_PER_ROUND }, writeRow));
    const startSeconds = await timed(BATCH, (index) =>
      workflows.start(orderInputOf(rows[index] as OrderRow)),
    );
    await waitUntilIdle(sql, merchantId);
    const postSeconds = await timed(BATCH, post);
    await waitUntilIdle(sql, merchantId);
    const rates = [postSeconds, startSeconds].map((time) => (ORDERS_PER_ROUND / time).toFixed(0));
    console.log(`${round === 0 ? 'warm-up' : round}\t${rates[0]}/s\t\t${rates[1]}/s`);
    if (round === 0) continue;
    seconds.post += postSeconds;
    seconds.start += startSeconds;
  }
  api.stop();
  const ratio = seconds.start / seconds.post;
  console.log(
    `\nPOST /orders reaches ${ratio.toFixed(2)} of the bare rate (at least ${TARGET_RATIO})`,
  );
  if (ratio < TARGET_RATIO) process.exitCode = 1;
}

/** The worker's share of one phase must not slow the next one: waits until it has caught up. */
async function waitUntilIdle(sql: Sql, merchantId: string): Promise<void> {
  for (;;) {
    const unstarted = await sql`
      SELECT 1 FROM unstarted_orders JOIN orders USING (order_number)
      WHERE merchant_id = ${merchantId} LIMIT 1`;
    if (unstarted.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function startApi(environment: Record<string, string>) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../src/main/api.ts', import.meta.url))],
    {
      stdio: 'ignore',
      env: {
        ...environment,
        PORT: String(port),
        RATE_LIMIT_PER_SECOND: '1000000',
        PAYMENT_LINK_SECONDS: String(PAYMENT_LINK_SECONDS),
        LOG_LEVEL: 'warn',
      },
    },
  );
  process.once('exit', () => child.kill());
  for (;;) {
    const ready = await fetch(`${url}/readyz`).catch(() => undefined);
    if (ready?.ok) return { url, stop: () => child.kill() };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
