import { z } from 'zod';
import type { PaymentRef } from '../../contracts/ids.ts';
import type { Sql } from '../../db/client.ts';
import type { Route } from '../../http/define-route.ts';
import { defineRoute } from '../../http/define-route.ts';
import { envelopeOf, success } from '../../http/responses/response.ts';
import { armSandboxFault } from '../../merchants/public.ts';
import { findCarriedOut, findTarget } from '../commands/command-queries.ts';
import type { AdvanceDeps } from '../commands/sandbox-helpers.ts';
import { advanceOrder } from '../commands/sandbox-helpers.ts';
import type { SendDeps } from '../commands/send-command.ts';
import { raiseDispute, sendCommand } from '../commands/send-command.ts';
import type { DeclaredCommand } from './command-routes.ts';
import { declareCommand } from './command-routes.ts';
import type { OrderRow } from '../rows.ts';
import { advanceSchema, decideSchema, disputeSchema } from '../schemas.ts';

interface TestHelperDeps extends AdvanceDeps {
  /** Pays at the gateway as the buyer would. When it returns, the capture is recorded. */
  pay(order: OrderRow, commandId: string): Promise<PaymentRef>;
}

/** The declaration that the helpers share. They exist only below the sandbox's path. */
const helper = {
  base: 'sandbox',
  below: '/test-helpers',
  tags: ['Sandbox test helpers'],
} as const;
/** The reason in PAYMENT_FAILED: the helper does not ask the gateway. */
const DECLINED = 'The payment was declined by the sandbox test helper';

const MOVES = 'An order takes at most 500 `advance` and `fail-payment` in all.';

/** The reason of the decision, for merchant and buyer. */
const DECIDED = 'Decided by the sandbox test helper';

/** The commands with which a merchant tests an integration. They act as the buyer and move the clock. */
export function testHelpers(deps: TestHelperDeps): DeclaredCommand[] {
  return [
    payHelper(deps),
    declareCommand({
      ...helper,
      action: 'fail-payment',
      operationId: 'testFailPayment',
      summary: "Fail the buyer's payment attempt",
      description: `The order stays ACCEPTED; PAYMENT_FAILED is sent. ${MOVES}`,
      done: 'Payment failed',
      body: undefined,
      carryOut: (given) =>
        sendCommand(deps, {
          ...given,
          name: 'failPayment',
          message: {},
          body: { reason: DECLINED },
        }),
    }),
    declareCommand({
      ...helper,
      action: 'dispute',
      operationId: 'testDispute',
      summary: 'Raise a dispute as the buyer',
      description:
        'PAID or DELIVERED → DISPUTE_OPEN; from the fifth dispute of an order on, DISPUTE_UNDER_REVIEW.',
      done: 'Dispute raised',
      body: disputeSchema,
      carryOut: (given, { reason }) => raiseDispute(deps, { ...given, reason }),
    }),
    advanceHelper(deps),
    decideHelper(deps),
  ];
}

function payHelper(deps: TestHelperDeps): DeclaredCommand {
  return declareCommand({
    ...helper,
    action: 'pay',
    operationId: 'testPay',
    summary: 'Pay an order as its buyer',
    description: 'ACCEPTED → PAID.',
    errors: ['GATEWAY_UNAVAILABLE', 'PAYMENTS_NOT_AVAILABLE'],
    waitsForGateway: true,
    done: 'Order paid',
    body: undefined,
    carryOut: async (given) => {
      const { order, commandId } = await findTarget(deps.sql, given);
      const before = await findCarriedOut(deps.sql, { ...order, commandId });
      if (before) return { order: deps.present(before), replayed: true, mismatch: false };
      const message = await deps.pay(order, commandId);
      return sendCommand(deps, { ...given, commandId, name: 'pay', message });
    },
  });
}

function advanceHelper(deps: AdvanceDeps): DeclaredCommand {
  return declareCommand({
    ...helper,
    action: 'advance',
    operationId: 'testAdvance',
    summary: "Move the order's clock",
    description:
      'Moves its deadlines and the attempts of its webhooks closer by the given number of seconds; past times do ' +
      `not change. Of an order in a final status, only the attempts move. ${MOVES}`,
    done: 'Clock advanced',
    body: advanceSchema,
    carryOut: (given, { seconds }) => advanceOrder(deps, { ...given, seconds }),
  });
}

function decideHelper(deps: SendDeps): DeclaredCommand {
  return declareCommand({
    ...helper,
    action: 'decide',
    operationId: 'testDecide',
    summary: 'Decide a dispute as an operator',
    description:
      'DISPUTE_* → DELIVERED if it is decided for the merchant; for the buyer → REFUNDED once the gateway has ' +
      'refunded, until then `refund.processed_at` is null.',
    done: 'Dispute decided',
    body: decideSchema,
    carryOut: (given, { for: winner }) =>
      sendCommand(deps, {
        ...given,
        name: 'decide',
        message: { for: winner },
        body: { reason: DECIDED, for: winner },
      }),
  });
}

/** Arms the one fault that a client cannot simulate: the request takes effect, and the answer is an error. */
export function failAfterWorkRoute(sql: Sql): Route {
  return defineRoute({
    base: helper.base,
    tags: helper.tags,
    method: 'POST',
    path: `${helper.below}/fail-after-work`,
    operationId: 'testFailAfterWork',
    summary: 'Fail the next request after its work',
    description:
      'Your next POST in the sandbox that succeeds and is no test helper takes effect, and answers 500, once. Repeat ' +
      'it with the same Idempotency-Key: your integration must not do its work twice.',
    responses: {
      200: { description: 'The next POST answers 500', schema: envelopeOf(z.null()) },
    },
  }).handledBy(async ({ merchant }) => {
    await armSandboxFault(sql, merchant.id);
    return { status: 200, body: success('The next POST answers 500 after its work', null) };
  });
}
