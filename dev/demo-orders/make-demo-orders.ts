import { randomUUID } from 'node:crypto';
import type { Sql } from '../../src/db/client.ts';
import { runWithRequestId } from '../../src/http/request-context.ts';
import { createOrderPresenter } from '../../src/orders/presenter.ts';
import { createStepRecorder } from '../../src/orders/steps/record-step.ts';
import { writeCallback } from '../../src/payments/captures/capture-queries.ts';
import type { SecretBox } from '../../src/secret-box.ts';
import { saveWebhookUrl } from '../../src/webhooks/endpoints/endpoints.ts';
import type { DemoMerchant } from '../dev-facts.ts';
import { act } from './acts.ts';
import { createDemoGateway } from './demo-gateway.ts';
import type { DemoDeps, DemoOrder } from './deps.ts';
import { AT } from './money.ts';
import { moveClock } from './moved-clock.ts';
import { create, WAKE_AFTER_MS } from './steps.ts';
import type { Act } from './stories.ts';
import { ENDPOINT_FAILS_SINCE_HOURS, stories } from './stories.ts';
import { DEMO_WEBHOOK_URL, writeAttempts } from './webhooks.ts';

const HOUR_MS = 3_600_000;
/** Before the oldest order. */
const REGISTERED_HOURS_AGO = 31 * 24;

/** What the past is written with. */
interface PastDeps {
  /** Of the tables' owner, with one connection, on which a transaction is open. */
  sql: Sql;
  secretBox: SecretBox;
  publicBaseUrl: string;
  /** Where buyers reach the gateway simulator. */
  gatewayUrl: string;
}

/**
 * Writes the past of the demo merchant: orders of 30 days in every status, with their money at the gateway
 * simulator and their webhooks. The orders that are under way are woken by the sweep.
 *
 * @returns the line with which the simulator's journal begins
 */
export async function makeDemoOrders(deps: PastDeps, merchant: DemoMerchant): Promise<string> {
  const { sql, secretBox, publicBaseUrl, gatewayUrl } = deps;
  const { merchantId } = merchant;
  const nowMs = Date.now();
  const actor = { name: 'seed', address: null };
  const endpoint = { sql, secretBox, actor, checkUrl: accepted };
  const { secret } = await saveWebhookUrl(endpoint, merchantId, 'sandbox', DEMO_WEBHOOK_URL);
  const clock = await moveClock(sql);
  const demoGateway = createDemoGateway(gatewayUrl, clock.nowMs);
  const present = createOrderPresenter(publicBaseUrl);
  const firstAttempt = { wakeAfterMs: WAKE_AFTER_MS };
  const recordStep = createStepRecorder({ sql, present, firstAttempt });
  await live({ sql, clock, demoGateway, present, recordStep, merchant }, nowMs);
  await clock.end();
  const failsSinceMs = nowMs - ENDPOINT_FAILS_SINCE_HOURS * HOUR_MS;
  await writeAttempts(sql, { merchantId, secret: secret ?? '', failsSinceMs, nowMs });
  await endPast(sql, merchantId, new Date(nowMs - REGISTERED_HOURS_AGO * HOUR_MS));
  return demoGateway.journalLine();
}

/** The name of the endpoint is not looked up: it does not exist. */
const accepted = async (url: string) => ({ ok: true, url: new URL(url), warning: null }) as const;

/** One moment of the past. */
interface Moment {
  atMs: number;
  happen: () => Promise<void>;
}

/** Everything happens in the order of time, as the numbers of events and of ledger lines do. */
async function live(deps: DemoDeps, nowMs: number): Promise<void> {
  const { sql, clock, demoGateway } = deps;
  for (const { atMs, happen } of momentsOf(deps, nowMs)) {
    // The connection takes the statements in this order.
    await Promise.all([clock.set(atMs), runWithRequestId(randomUUID(), happen)]);
    const callbacks = demoGateway.takeCallbacks();
    await Promise.all(
      callbacks.map(({ id: eventId, name: event, body }) =>
        writeCallback(sql, { ...AT, eventId, event, body, reports: null }),
      ),
    );
  }
}

function momentsOf(deps: DemoDeps, nowMs: number): Moment[] {
  const moments = stories().flatMap((story): Moment[] => {
    let atMs = nowMs - story.createdHoursAgo * HOUR_MS;
    let order: DemoOrder | undefined;
    const begin = async () => void (order = await create(deps, story));
    const next = async (name: Act) => {
      if (order) await act(deps, order, name);
    };
    return [
      { atMs, happen: begin },
      ...story.acts.map(([name, hours]) => ({
        atMs: (atMs += hours * HOUR_MS),
        happen: () => next(name),
      })),
    ];
  });
  return moments.toSorted((one, two) => one.atMs - two.atMs);
}

/** What the workflows and the Schedules would have done by now. */
async function endPast(sql: Sql, merchantId: string, registeredAt: Date): Promise<void> {
  await sql`UPDATE merchants SET created_at = ${registeredAt} WHERE merchant_id = ${merchantId}`;
  await sql`
    UPDATE merchant_applications SET submitted_at = ${registeredAt} WHERE merchant_id = ${merchantId}`;
  await sql`
    UPDATE merchant_documents SET uploaded_at = ${registeredAt} WHERE merchant_id = ${merchantId}`;
  await sql`UPDATE api_keys SET created_at = ${registeredAt} WHERE merchant_id = ${merchantId}`;
  await sql`
    UPDATE merchant_environments SET updated_at = ${registeredAt} WHERE merchant_id = ${merchantId}`;
  await sql`
    UPDATE payment_sessions s SET next_check_at = NULL FROM orders o
    WHERE o.order_number = s.order_number AND o.merchant_id = ${merchantId}
      AND s.next_check_at < service_now()`;
  await sql`
    DELETE FROM order_wakeups w USING orders o
    WHERE o.order_number = w.order_number AND o.merchant_id = ${merchantId}
      AND is_final(o.status)`;
  await sql`
    UPDATE order_wakeups w SET written_at = service_now(), due_at = service_now() FROM orders o
    WHERE o.order_number = w.order_number AND o.merchant_id = ${merchantId}`;
}
