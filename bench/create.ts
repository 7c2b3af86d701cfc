import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { loadDevConfig } from '../dev/config.ts';
import { loadConfig } from '../src/config.ts';
import type { Sql } from '../src/db/client.ts';
import { connectDatabase } from '../src/db/client.ts';
import { readDevFacts } from '../dev/dev-facts.ts';
import { freePort } from '../dev/processes/ports.ts';
import type { KeyPair } from '../src/merchants/credentials.ts';
import { createKeyPair } from '../src/merchants/keys.ts';
import type { OrderRow } from '../src/orders/rows.ts';
import { createOrderPresenter } from '../src/orders/presenter.ts';
import { orderInputOf } from '../src/orders/recovery.ts';
import { connectTemporal } from '../src/temporal/client.ts';
import { ORDER, registerMerchant, writeOrder } from './fixtures.ts';
import { timed } from './load.ts';
import { createOrderWorkflows } from '../src/temporal/order-workflows.ts';

const CONCURRENCY = 32;
const ORDERS_PER_ROUND = 500;
const BATCH = { count: ORDERS_PER_ROUND, concurrency: CONCURRENCY };
const ROUNDS = 4;
/** Short, so that the orders of a benchmark expire soon. */
const PAYMENT_LINK_SECONDS = 120;
const TARGET_RATIO = 0.8;

/**
 * Compares POST /orders with a bare `client.workflow.start` of the same workflow on the same server,
 * in alternation, against the service that runs on the same DATA_DIR. The API is a separate process,
 * as in production, but without the rate limit. The rows of the bare starts are written before.
 */
export async function run(): Promise<void> {
  const facts = readDevFacts(loadDevConfig().dataDir);
  const config = loadConfig(facts.environment);
  const sql = connectDatabase(config.databaseUrl ?? '', { name: 'bench' });
  const { temporalAddress: address = '', temporalNamespace: namespace } = config;
  const workflows = createOrderWorkflows(connectTemporal({ address, namespace }));
  const merchantId = await registerMerchant(sql);
  const admin = {
    sql,
    pepper: config.apiSecretPepper ?? '',
    actor: { name: 'bench', address: null },
  };
  const keys = await createKeyPair(admin, merchantId, 'sandbox');
  const api = await startApi(facts.environment);
  const post = createPost(`${api.url}${facts.sandboxBasePath}/orders`, keys);
  const { durations } = config;
  const present = createOrderPresenter(config.publicBaseUrl);
  const paymentLinkMs = PAYMENT_LINK_SECONDS * 1000;
  const writeRow = () => writeOrder(merchantId, { sql, durations, present, paymentLinkMs });

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

/** @returns a function that creates an order over HTTP. It throws unless the response is 201 */
function createPost(url: string, { apiKey, apiSecret }: KeyPair): () => Promise<void> {
  const dispatcher = new Agent({ connections: CONCURRENCY });
  const headers = {
    'content-type': 'application/json',
    'x-api-key': apiKey,
    'x-api-secret': apiSecret,
  };
  const body = JSON.stringify(ORDER);
  return async () => {
    const response = await request(url, { method: 'POST', dispatcher, headers, body });
    const text = await response.body.text();
    if (response.statusCode !== 201)
      throw new Error(`POST /orders: ${response.statusCode} ${text}`);
  };
}

/** Waits until the worker has started all orders, so that one phase does not slow the next one. */
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
