import type { PaymentRef } from '../contracts/ids.ts';
import type { Sql } from '../db/client.ts';
import type { Route } from '../http/define-route.ts';
import { defineRoute } from '../http/define-route.ts';
import { keyHeaders } from '../http/idempotency-key.ts';
import type { OrderCommands } from './commands.ts';
import { authorizeCommand, commandReply, commandResponse, orderParams } from './route-parts.ts';
import { orderErrors } from './authorize-order.ts';
import type { OrderRow } from './rows.ts';
import { advanceSchema, disputeSchema } from './schemas.ts';

/** The dependencies of the sandbox's test helpers. */
export interface TestHelperDeps {
  sql: Sql;
  commands: OrderCommands;
  /** Pays at the gateway as the buyer would. When this returns, the capture is recorded. */
  pay(order: OrderRow, commandId: string): Promise<PaymentRef>;
}

/** The declaration that the four helpers share. They exist under the sandbox path only. */
const helper = {
  base: 'sandbox',
  caller: 'merchant',
  method: 'POST',
  tags: ['Sandbox test helpers'],
  params: orderParams,
  headers: keyHeaders,
  responses: { 200: commandResponse },
  errors: [...orderErrors, 'INVALID_STATE'],
} as const;

/** The routes with which a merchant tests an integration: they act as the buyer and move the clock. */
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
  }).handledBy(async (request) => {
    const { order, commandId } = await authorizeCommand(sql, request, 'pay');
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

/** The reason in PAYMENT_FAILED: the helper does not ask the gateway. */
const DECLINED = 'The payment was declined by the sandbox test helper';

function failPaymentRoute({ sql, commands }: TestHelperDeps): Route {
  return defineRoute({
    ...helper,
    path: '/test-helpers/orders/{id}/fail-payment',
    operationId: 'testFailPayment',
    summary: "Fail the buyer's payment attempt",
    description: 'The order stays ACCEPTED; PAYMENT_FAILED is sent.',
  }).handledBy(async (request) => {
    const { order, commandId } = await authorizeCommand(sql, request, 'fail-payment');
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
  }).handledBy(async (request) => {
    const { order, commandId } = await authorizeCommand(sql, request, 'dispute');
    const result = await commands.raiseDispute({ order, commandId, reason: request.body.reason });
    return commandReply('Dispute raised', result);
  });
}

function advanceRoute({ sql, commands }: TestHelperDeps): Route {
  return defineRoute({
    ...helper,
    path: '/test-helpers/orders/{id}/advance',
    operationId: 'testAdvance',
    summary: "Move the order's clock",
    description:
      'Moves its deadlines closer by the given number of seconds; past times do not change.',
    body: advanceSchema,
  }).handledBy(async (request) => {
    const { order, commandId } = await authorizeCommand(sql, request, 'advance');
    const { seconds } = request.body;
    const result = await commands.send({
      order,
      name: 'advance',
      message: { commandId, seconds },
      body: { seconds },
    });
    return commandReply('Clock advanced', result);
  });
}
