import type { PaymentRef } from '../contracts/ids.ts';
import type { Sql } from '../db/client.ts';
import type { Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import { keyHeaders } from '../http/idempotency-key.ts';
import type { OrderCommands } from './commands.ts';
import { authorizeOrder } from './authorize-order.ts';
import { commandIdOf } from './command-ids.ts';
import { commandAnswer, commandReply, orderErrors, orderParams } from './route-parts.ts';
import type { OrderRow } from './rows.ts';
import { advanceSchema, disputeSchema } from './schemas.ts';

export interface TestHelperDeps {
  sql: Sql;
  commands: OrderCommands;
  /** Pays at the gateway as the buyer would; the capture is recorded then. */
  pay(order: OrderRow, commandId: string): Promise<PaymentRef>;
}

/** What the four helpers have in common. They exist under the sandbox path only. */
const helper = {
  base: 'sandbox',
  caller: 'merchant',
  method: 'POST',
  tags: ['Sandbox test helpers'],
  params: orderParams,
  headers: keyHeaders,
  responses: { 200: commandAnswer },
  errors: [...orderErrors, 'INVALID_STATE'],
} as const;

/** Play the buyer, and move an order's clock: for trying out an integration. */
export function testHelperRoutes(deps: TestHelperDeps): Route[] {
  return [payRoute(deps), failPaymentRoute(deps), disputeRoute(deps), advanceRoute(deps)];
}

function payRoute({ sql, commands, pay }: TestHelperDeps): Route {
  return defineRoute({
    ...helper,
    path: '/test-helpers/orders/{id}/pay',
    operationId: 'testPay',
    summary: 'Pay an order as its buyer',
    description: 'ACCEPTED → PAID.',
    errors: [...helper.errors, 'GATEWAY_UNAVAILABLE', 'PAYMENTS_NOT_AVAILABLE'],
  }).handledBy(async ({ params, headers, merchant, environment }) => {
    const order = await authorizeOrder(sql, merchant.id, environment, params.id);
    const commandId = commandIdOf(order, 'pay', headers['Idempotency-Key']);
    const result =
      (await commands.findRepeated(order, commandId)) ??
      (await commands.send({
        order,
        name: 'pay',
        message: { commandId, ...(await pay(order, commandId)) },
      }));
    return commandReply('Order paid', result);
  });
}

/** No gateway was asked, so this is what the merchant reads as the reason. */
const DECLINED = 'The payment was declined by the sandbox test helper';

function failPaymentRoute({ sql, commands }: TestHelperDeps): Route {
  return defineRoute({
    ...helper,
    path: '/test-helpers/orders/{id}/fail-payment',
    operationId: 'testFailPayment',
    summary: "Let the buyer's payment attempt fail",
    description: 'The order stays ACCEPTED; PAYMENT_FAILED is sent.',
  }).handledBy(async ({ params, headers, merchant, environment }) => {
    const order = await authorizeOrder(sql, merchant.id, environment, params.id);
    const commandId = commandIdOf(order, 'fail-payment', headers['Idempotency-Key']);
    const result = await commands.send({
      order,
      name: 'failPayment',
      message: { commandId },
      body: { reason: DECLINED },
    });
    return commandReply('Payment failed', result);
  });
}

function disputeRoute({ sql, commands }: TestHelperDeps): Route {
  return defineRoute({
    ...helper,
    path: '/test-helpers/orders/{id}/dispute',
    operationId: 'testDispute',
    summary: 'Raise a dispute as the buyer',
    description: 'PAID or DELIVERED → DISPUTE_OPEN.',
    body: disputeSchema,
  }).handledBy(async ({ params, body, headers, merchant, environment }) => {
    const order = await authorizeOrder(sql, merchant.id, environment, params.id);
    const commandId = commandIdOf(order, 'dispute', headers['Idempotency-Key']);
    const result = await commands.raiseDispute({ order, commandId, reason: body.reason });
    return commandReply('Dispute raised', result);
  });
}

function advanceRoute({ sql, commands }: TestHelperDeps): Route {
  return defineRoute({
    ...helper,
    path: '/test-helpers/orders/{id}/advance',
    operationId: 'testAdvance',
    summary: "Move the order's clock",
    description: 'Its deadlines come nearer by so many seconds; what has passed stays as it was.',
    body: advanceSchema,
  }).handledBy(async ({ params, body, headers, merchant, environment }) => {
    const order = await authorizeOrder(sql, merchant.id, environment, params.id);
    const commandId = commandIdOf(order, 'advance', headers['Idempotency-Key']);
    const { seconds } = body;
    const result = await commands.send({
      order,
      name: 'advance',
      message: { commandId, seconds },
      body: { seconds },
    });
    return commandReply('Clock advanced', result);
  });
}
