import { createHmac } from 'node:crypto';
import { expect } from 'vitest';
import type { EventType, OrderStatus } from '../../src/domain/index.ts';
import { EVENT_TYPES } from '../../src/domain/index.ts';
import { WEBHOOK_EVENTS } from '../../src/orders/routes/webhook-events.ts';
import { sendTestEvent } from '../../src/webhooks/endpoints/test-event.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { serviceTest } from '../support/service-test.ts';

const test = serviceTest({ time: 'real', worker: false }).extend(
  'deps',
  { scope: 'file' },
  ({ service }) => ({ ...service.deps, actor: TEST_ACTOR }),
);

/** Source: the specification's "Event types". */
const STATUS_AFTER: Record<EventType, OrderStatus> = {
  ORDER_CREATED: 'ACCEPTED',
  PAYMENT_SUCCESS: 'PAID',
  PAYMENT_FAILED: 'ACCEPTED',
  DELIVERY_CONFIRMED: 'DELIVERED',
  DISPUTE_RAISED: 'DISPUTE_OPEN',
  DISPUTE_RESOLVED: 'DELIVERED',
  ORDER_COMPLETED: 'COMPLETED',
  REFUND_PROCESSED: 'REFUNDED',
  ORDER_CANCELLED: 'CANCELLED',
};

test.for(EVENT_TYPES)(
  'in the sandbox, a test event %s is what the event looks like, about an order that does not exist',
  async (type, { service, deps }) => {
    const merchant = await service.newMerchant();
    const sentAfter = Date.now();
    const result = await sendTestEvent(deps, merchant.merchantId, 'sandbox', type);
    expect(result).toMatchObject({ delivered: true, statusCode: 200 });
    const [received] = merchant.receiver.received;
    const { headers = {}, body, rawBody } = received ?? {};
    expect(headers).toMatchObject({
      'x-service-event': type,
      'x-service-event-id': result.eventId,
      'x-service-signature': createHmac('sha256', merchant.webhookSecret)
        .update(`${String(headers['x-service-timestamp'])}.${String(rawBody)}`)
        .digest('hex'),
    });
    expect(body?.event_id).toBe(result.eventId);
    expect(Date.parse(body?.timestamp ?? '')).toBeGreaterThanOrEqual(sentAfter);
    const declared = WEBHOOK_EVENTS.find(({ event }) => event === type);
    expect(declared?.payload.safeParse(body).error).toBeUndefined();
    const { status, order_number: number, updated_at: updatedAt } = body?.data ?? {};
    expect(status).toBe(STATUS_AFTER[type]);
    expect(updatedAt).toBe(body?.timestamp);
    expect((await merchant.sandbox.get(`/orders/${String(number)}`)).status).toBe(404);
  },
);

test('in production, only TEST is sent', async ({ service, deps }) => {
  const merchant = await service.newMerchant();
  await expect(
    sendTestEvent(deps, merchant.merchantId, 'production', 'PAYMENT_SUCCESS'),
  ).rejects.toThrow('In production, only TEST can be sent: your server acts on PAYMENT_SUCCESS');
  // The next check is the one for a URL.
  await expect(sendTestEvent(deps, merchant.merchantId, 'production')).rejects.toThrow(
    'No webhook URL is configured in production',
  );
});
