import { describe, expect } from 'vitest';
import { billableActions, namesOf, payloadTexts } from '../../dev/orders/history.ts';
import type { DirectOrder } from '../support/orders.ts';
import { startOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';

/** The figures that an order without complications must not exceed, with its four webhooks delivered. */
const MOST_EVENTS = 36;
const MOST_ACTIONS = 14;

const test = serviceTest({
  time: 'real',
  settings: { COMPLETION_WINDOW_SECONDS: '2' },
  callbacks: false,
}).extend('lived', { scope: 'file' }, async ({ service, merchant }) => {
  const arrived = (event: string) =>
    merchant.receiver.until(1, (webhook) => webhook.event === event);
  // As in production, each webhook has arrived long before the next step.
  const order = await startOrder(service, merchant);
  await arrived('ORDER_CREATED');
  await order.pay();
  await arrived('PAYMENT_SUCCESS');
  await order.update('deliver');
  await arrived('DELIVERY_CONFIRMED');
  await arrived('ORDER_COMPLETED');
  return { order, result: await order.handle.result() };
});

/** The names of an order's events, without the workflow tasks for which its worker had no processor time. */
async function ownEvents({ handle }: DirectOrder): Promise<string[]> {
  const { events } = await handle.fetchHistory();
  const all = events ?? [];
  const lost = all.flatMap(({ eventId, workflowTaskTimedOutEventAttributes: timedOut }) =>
    timedOut ? [eventId, timedOut.scheduledEventId, timedOut.startedEventId].map(String) : [],
  );
  return namesOf(all.filter(({ eventId }) => !lost.includes(String(eventId))));
}

describe('an order without complications: create, pay, deliver, 24 hours, complete', () => {
  test('costs at most 36 history events and 14 billable actions', async ({
    lived: { order, result },
  }) => {
    const names = await ownEvents(order);
    const figures = { events: names.length, actions: billableActions(names) };
    console.info('The happy path costs', figures);
    expect(figures.events).toBeLessThanOrEqual(MOST_EVENTS);
    expect(figures.actions).toBeLessThanOrEqual(MOST_ACTIONS);
    expect(result).toMatchObject({ status: 'COMPLETED', disputeCount: 0, webhookEvents: 4 });
  });

  test('leaves no personal data in Temporal: no email, phone, name, text or URL', async ({
    lived: { order },
  }) => {
    const { events } = await order.handle.fetchHistory();
    const row = await order.row();
    const texts = payloadTexts(events ?? []);
    expect(texts).toContain(order.orderNumber);
    for (const secret of [row.buyerEmail, row.buyerPhone, row.description, row.paymentToken]) {
      expect(texts).not.toContain(secret);
    }
    expect(texts).not.toMatch(/https?:/);
  });

  test('can be found and understood in the Temporal UI by an operator', async ({
    service,
    lived: { order },
  }) => {
    const { typedSearchAttributes } = await order.handle.describe();
    const found = typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]);
    expect(Object.fromEntries(found)).toMatchObject({
      OrderStatus: 'COMPLETED',
      MerchantId: (await order.row()).merchantId,
      Environment: 'sandbox',
      DisputeCount: 0,
    });
    const query = `OrderStatus = 'COMPLETED' AND WorkflowType = 'order'`;
    await until(async () => (await service.temporal.client.workflow.count(query)).count === 1);
  });

  test('writes no patch marker and never fails a workflow task', async ({ lived: { order } }) => {
    const names = await ownEvents(order);
    expect(names.filter((name) => /FAILED|TIMED_OUT|CANCELED_EXTERNAL/.test(name))).toEqual([]);
    expect(payloadTexts((await order.handle.fetchHistory()).events ?? [])).not.toContain(
      'core_patch',
    );
  });
});
