import type { PaymentRef } from '../../contracts/ids.ts';
import type { OrderCommands } from '../commands/commands.ts';
import type { DeclaredCommand } from './route-parts.ts';
import { declareCommand } from './route-parts.ts';
import type { OrderRow } from '../rows.ts';
import { advanceSchema, disputeSchema } from '../schemas.ts';

/** The dependencies of the sandbox's test helpers. */
export interface TestHelperDeps {
  commands: OrderCommands;
  /** Pays at the gateway as the buyer would. When this returns, the capture is recorded. */
  pay(order: OrderRow, commandId: string): Promise<PaymentRef>;
}

/** The declaration that the four helpers share. They exist under the sandbox path only. */
const helper = {
  base: 'sandbox',
  below: '/test-helpers',
  tags: ['Sandbox test helpers'],
} as const;
/** The reason in PAYMENT_FAILED: the helper does not ask the gateway. */
const DECLINED = 'The payment was declined by the sandbox test helper';

/** The commands with which a merchant tests an integration: they act as the buyer and move the clock. */
export function testHelpers({ commands, pay }: TestHelperDeps): DeclaredCommand[] {
  return [
    payHelper({ commands, pay }),
    declareCommand({
      ...helper,
      action: 'fail-payment',
      operationId: 'testFailPayment',
      summary: "Fail the buyer's payment attempt",
      description: 'The order stays ACCEPTED; PAYMENT_FAILED is sent.',
      done: 'Payment failed',
      body: undefined,
      carryOut: ({ order, commandId, actor }) =>
        commands.send({
          order,
          name: 'failPayment',
          message: { commandId },
          body: { reason: DECLINED },
          actor,
        }),
    }),
    declareCommand({
      ...helper,
      action: 'dispute',
      operationId: 'testDispute',
      summary: 'Raise a dispute as the buyer',
      description: 'PAID or DELIVERED → DISPUTE_OPEN.',
      done: 'Dispute raised',
      body: disputeSchema,
      carryOut: (given, { reason }) => commands.raiseDispute({ ...given, reason }),
    }),
    declareCommand({
      ...helper,
      action: 'advance',
      operationId: 'testAdvance',
      summary: "Move the order's clock",
      description:
        'Moves its deadlines closer by the given number of seconds; past times do not change.',
      done: 'Clock advanced',
      body: advanceSchema,
      carryOut: ({ order, commandId, actor }, { seconds }) =>
        commands.send({
          order,
          name: 'advance',
          message: { commandId, seconds },
          body: { seconds },
          actor,
        }),
    }),
  ];
}

function payHelper({ commands, pay }: TestHelperDeps): DeclaredCommand {
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
    carryOut: async ({ order, commandId, actor }) =>
      (await commands.findRepeated(order, commandId)) ??
      commands.send({
        order,
        name: 'pay',
        message: { commandId, ...(await pay(order, commandId)) },
        actor,
      }),
  });
}
