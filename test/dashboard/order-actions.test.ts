import { expect } from 'vitest';
import { ORDER_STATUSES } from '../../src/domain/index.ts';
import { transitionOf } from '../../src/domain/lifecycle.ts';
import type { OrderActionId } from '../../src/dashboard/orders/actions.ts';
import { createOrderActions, ORDER_ACTION_IDS } from '../../src/dashboard/orders/actions.ts';
import { createGatewaySlots } from '../../src/payments/gateway/gateway-slots.ts';
import { commandPath, merchantCommands } from '../../src/orders/routes/command-routes.ts';
import { createOrderPresenter } from '../../src/orders/presenter.ts';
import { testHelpers } from '../../src/orders/routes/test-helpers.ts';
import { createSandboxPayment } from '../../src/payments/sessions/sandbox-payment.ts';
import { CLIENT_COMMANDS, COMMAND_REQUESTS } from '../support/command-requests.ts';
import { sendCurl } from '../support/curl.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { EXAMPLE_ROW } from './example-row.ts';
import { TEST_ACTOR } from '../support/actor.ts';

function commandsOf({ deps, config, origin, log }: TestService) {
  const { sql, workflows, gateways } = deps;
  const { durations } = config;
  const present = createOrderPresenter(origin);
  const orders = { sql, workflows, durations, present, log };
  const sessions = { sql, workflows, gateways, sessionMs: durations.paymentSessionMs, log };
  const pay = createSandboxPayment(sessions);
  const helpers = testHelpers({ ...orders, pay, advanceAttempts: async () => 0 });
  return [...merchantCommands(orders), ...helpers];
}

const test = serviceTest({ time: 'real', merchant: { webhooks: false } })
  .extend('declared', { scope: 'file' }, ({ service }) => commandsOf(service))
  .extend('actions', { scope: 'file' }, ({ service, declared }) =>
    createOrderActions(declared, {
      publicBaseUrl: service.origin,
      gatewaySlots: createGatewaySlots(),
    }),
  );

test('exactly the actions that the lifecycle allows are offered, and test helpers in the sandbox only', ({
  actions,
  declared,
}) => {
  /** The lifecycle's command of an action: that of its operation. */
  const commandOf = (id: OrderActionId) => {
    const path = commandPath(declared.find(({ operationId }) => operationId === id)!);
    return CLIENT_COMMANDS.find((name) => COMMAND_REQUESTS[name].path === path)!;
  };
  for (const status of ORDER_STATUSES) {
    for (const pendingOperation of [null, { kind: 'releasing' }] as const) {
      const order = { ...EXAMPLE_ROW, status, pendingOperation };
      const legal = ORDER_ACTION_IDS.filter((id) =>
        transitionOf({ status, pendingOperation }, commandOf(id)),
      );
      expect(actions.of(order).map(({ id }) => id)).toEqual(legal);
      const inProduction = actions.of({ ...order, environment: 'production' });
      expect(inProduction.map(({ id }) => id)).toEqual(
        legal.filter((id) => !id.startsWith('test')),
      );
    }
  }
  // Every merchant's command has its button.
  expect([...ORDER_ACTION_IDS].toSorted()).toEqual(
    declared
      .map(({ operationId }) => operationId)
      .filter((id) => id !== 'testDecide')
      .toSorted(),
  );
  expect(actions.find('testPay', 'production')).toBeUndefined();
  expect(actions.find('createOrder', 'sandbox')).toBeUndefined();
});

test('the fields of a form and the lengths of their texts are those of the API', ({ actions }) => {
  const fieldsOf = (id: string) =>
    actions.find(id, 'sandbox')?.fields.map(({ label: _label, ...field }) => field);
  const text = { kind: 'text', isRequired: false };
  expect(fieldsOf('deliverOrder')).toEqual([
    { ...text, name: 'trackingId', maxLength: 200 },
    { ...text, name: 'note', kind: 'long_text', maxLength: 1000 },
  ]);
  expect(fieldsOf('submitEvidence')).toEqual([
    { ...text, name: 'text', kind: 'long_text', isRequired: true, maxLength: 5000 },
  ]);
  expect(fieldsOf('testAdvance')).toEqual([
    { name: 'seconds', kind: 'number', isRequired: true, maxLength: undefined },
  ]);
  expect(fieldsOf('acceptDispute')).toEqual([]);
});

test("the shown command line does what the form does, with the merchant's credentials in it", async ({
  actions,
  merchant,
  orders,
  service,
}) => {
  const order = await orders.in('PAID');
  const refund = actions.find('refundOrder', 'sandbox')!;
  const line = actions.curlOf(refund, await order.row(), { reason: 'It\'s "gone" \\ `rm` $HOME' });
  expect(line).not.toContain(merchant.keys.sandbox.apiSecret);
  const filled = line
    .replace('YOUR_API_KEY', merchant.keys.sandbox.apiKey)
    .replace('YOUR_API_SECRET', merchant.keys.sandbox.apiSecret);
  const response = await sendCurl(filled);
  expect(response.status).toBe(200);
  const commands = (
    await service.sql<{ body: unknown }[]>`SELECT body FROM order_commands
    WHERE order_number = ${order.orderNumber}`
  ).map(({ body }) => body);
  expect(commands).toContainEqual({ reason: 'It\'s "gone" \\ `rm` $HOME' });
});

test('an action is carried out by the declaration of the API: once for each key, with its words', async ({
  actions,
  orders,
}) => {
  const order = await orders.in('PAID');
  const row = await order.row();
  const carryOut = (id: string, values: Record<string, string>, idempotencyKey: string) =>
    actions.carryOut(actions.find(id, 'sandbox')!, {
      order: row,
      values,
      idempotencyKey,
      actor: TEST_ACTOR,
    });
  const deliver = { trackingId: 'TRK-1', note: '' };
  await Promise.all([
    carryOut('deliverOrder', deliver, 'k1'),
    carryOut('deliverOrder', deliver, 'k1'),
  ]);
  expect((await order.kinds()).filter((kind) => kind === 'DELIVERY_CONFIRMED')).toHaveLength(1);
  await expect(carryOut('cancelOrder', {}, 'k2')).rejects.toMatchObject({
    code: 'INVALID_STATE',
    message: 'Cannot cancel; order must be in ACCEPTED status',
  });
  await expect(carryOut('testAdvance', { seconds: '1.5' }, 'k3')).rejects.toMatchObject({
    validationErrors: { seconds: 'must be a whole number from 1 to 2592000' },
  });
  await expect(carryOut('testDispute', { reason: 'short' }, 'k4')).rejects.toMatchObject({
    validationErrors: { reason: 'must be 10 to 2000 characters and not blank' },
  });
});
