import { ulid } from 'ulid';
import { randomBytes, randomInt } from 'node:crypto';
import type { Sql } from '../../src/db/client.ts';
import { writeCallback } from '../../src/payments/captures/capture-queries.ts';
import type { AdminCli } from '../support/admin-cli.ts';
import type { ApiClient, OrderRef } from '../support/api-client.ts';
import { payAtGateway, sessionOf } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { operatorUser } from '../support/users.ts';

/** A buyer whose every text can be searched. */
export function canaryBuyer() {
  const canary = `cnry${randomBytes(8).toString('hex')}`;
  const digits = String(randomInt(10 ** 9, 10 ** 10));
  return { canary, digits, email: `${canary}@example.com`, phone: `+91${digits}` };
}
export type CanaryBuyer = ReturnType<typeof canaryBuyer>;

/** Where the buyer's data is: each table that has it, with the number of rows. */
export async function findCanary(sql: Sql, { canary, digits }: CanaryBuyer) {
  const hex = Buffer.from(canary).toString('hex');
  const tables = await sql<{ name: string }[]>`
    SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`;
  const found: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await sql<{ count: number }[]>`
      SELECT count(*) FROM ${sql(name)} t WHERE strpos(lower(t::text), ${canary}) > 0
        OR strpos(t::text, ${hex}) > 0 OR strpos(t::text, ${digits}) > 0`;
    if (row && row.count > 0) found[name] = row.count;
  }
  return found;
}

const DAY_SECONDS = 24 * 3600;

export interface CanaryParts {
  service: TestService;
  merchant: Merchant;
  cli: AdminCli;
}

const newOrder = ({ canary, email, phone }: CanaryBuyer) => ({
  buyerEmail: email,
  buyerPhone: phone,
  buyerName: `Asha ${canary}`,
  description: `Blue kurta for ${canary}`,
  returnUrl: `https://shop.example.com/baskets/${canary}`,
});

export const keysOf = ({ email }: CanaryBuyer) => ({
  create: { 'Idempotency-Key': email },
  session: { 'Idempotency-Key': `session-${email}` },
  deliver: { 'Idempotency-Key': `deliver-${email}` },
});

async function paidOrder({ service, merchant }: CanaryParts, buyer: CanaryBuyer) {
  const api = merchant.sandbox;
  const keys = keysOf(buyer);
  const order = await api.create(newOrder(buyer), keys.create);
  await api.help(order, 'fail-payment');
  await api.openSession(order, keys.session);
  const { gatewaySessionId } = await sessionOf(service, order);
  await payAtGateway(service, gatewaySessionId, { vpa: `${buyer.canary}@upi` });
  await api.untilStatus(order, 'PAID');
  return order;
}

async function dispute(api: ApiClient, order: OrderRef, { canary }: CanaryBuyer) {
  await api.help(order, 'dispute', { reason: `${canary} says that it never came` });
  await api.command(order, 'dispute/evidence', { text: `It was sent to ${canary}` });
}

/** An order with two disputes, refunded by an operator, and all texts that one can have. */
export async function refundedOrder(parts: CanaryParts, buyer: CanaryBuyer, decision: string) {
  const { cli, merchant } = parts;
  const api = merchant.sandbox;
  const order = await paidOrder(parts, buyer);
  const delivery = { trackingId: `TRK-${buyer.canary}`, note: `Left with ${buyer.canary}` };
  await api.command(order, 'deliver', delivery, keysOf(buyer).deliver);
  await dispute(api, order, buyer);
  await api.command(order, 'dispute/resolve', { resolution: `Talked to ${buyer.canary}` });
  await dispute(api, order, buyer);
  const decide = ['dispute', 'decide', '--order', order.order_number, '--for', 'buyer'];
  await cli.json(...decide, '--reason', decision);
  await api.untilStatus(order, 'REFUNDED');
  return order;
}

export async function cancelledOrder({ merchant }: CanaryParts, buyer: CanaryBuyer) {
  const order = await merchant.sandbox.create(newOrder(buyer));
  await merchant.sandbox.command(order, 'cancel', { reason: `${buyer.canary} changed her mind` });
  return order;
}

/** An order whose dispute was resolved and whose window has passed. */
export async function completedOrder({ merchant: { sandbox } }: CanaryParts, buyer: CanaryBuyer) {
  const order = await sandbox.create(newOrder(buyer));
  await sandbox.help(order, 'pay');
  await sandbox.command(order, 'deliver');
  await dispute(sandbox, order, buyer);
  await sandbox.command(order, 'dispute/resolve', { resolution: `Agreed with ${buyer.canary}` });
  await sandbox.help(order, 'advance', { seconds: DAY_SECONDS + 1 });
  await sandbox.untilStatus(order, 'COMPLETED');
  return order;
}

/** Resolves when no webhook of the orders is under way. */
export const untilWebhooksEnded = ({ sql }: TestService, orders: OrderRef[]) =>
  until(async () => {
    const [row] = await sql<{ waiting: boolean }[]>`
      SELECT EXISTS (SELECT FROM order_events JOIN webhook_deliveries USING (event_id)
        WHERE order_number = ANY (${orders.map((order) => order.order_number)})
          AND (state = 'PENDING' OR attempt_token IS NOT NULL)) OR EXISTS (
        SELECT FROM wakeups) AS waiting`;
    return row?.waiting === false;
  });

/** Writes the buyer's data where no call of the API or of the simulator writes it. */
export async function plantElsewhere(
  { service: { sql } }: CanaryParts,
  { order_number }: OrderRef,
  { canary }: CanaryBuyer,
): Promise<void> {
  const error = `The bank does not know ${canary}`;
  await sql`
    UPDATE webhook_attempts SET response_body = ${Buffer.from(`Thanks, ${canary}`)}
    FROM webhook_deliveries d JOIN order_events e USING (event_id)
    WHERE d.delivery_id = webhook_attempts.delivery_id AND e.order_number = ${order_number}`;
  await sql`
    UPDATE payment_sessions SET upi_intent = upi_intent || ${`&tn=${canary}`},
      page_url = page_url || ${`#${canary}`} WHERE order_number = ${order_number}`;
  await sql`UPDATE order_commands SET address = ${canary} WHERE order_number = ${order_number}`;
  await sql`
    INSERT INTO outside_settlements (order_number, outcome, amount_paise, reason, actor)
    VALUES (${order_number}, 'refunded', 500, ${`${canary} gave an account`}, 'cli:asha')`;
  await sql`
    INSERT INTO alerts (kind, subject, details, cleared_at, cleared_by)
    VALUES ('gateway_refused', ${order_number}, ${sql.json({ message: 'Refused', error })},
      clock_timestamp(), 'worker')`;
  const { userId } = await operatorUser(sql, 'finance');
  await sql`
    INSERT INTO proposals (proposal_id, kind, order_number, merchant_id, parameters, before, reason, proposed_by,
      expires_at)
    SELECT ${`prp_${ulid()}`}, 'order.refund', order_number, merchant_id, '{}', '{}', ${`${canary} asks`}, ${userId},
      service_now()
    FROM orders WHERE order_number = ${order_number}`;
  const [payment] = await sql<{ gatewayPaymentId: string }[]>`
    SELECT gateway_payment_id FROM payments WHERE order_number = ${order_number}`;
  await writeCallback(sql, {
    gateway: 'razorpay',
    environment: 'sandbox',
    eventId: 'evt_malformed',
    event: 'not_understood',
    body: `{"vpa": "${canary}@upi", "payment_id": "${payment?.gatewayPaymentId}", broken`,
    reports: null,
  });
}
