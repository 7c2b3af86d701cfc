import {
  CancellationScope,
  continueAsNew,
  defineSignal,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
import { CATCH_UP_SIGNAL } from '../../src/contracts/ids.ts';
import type {
  IncomingMessage,
  OrderInput,
  OrderMessageName,
  OrderResult,
} from '../../src/contracts/order-workflow.ts';
import { MESSAGE_NAMES } from './messages.ts';
import { Order } from './order.ts';

/**
 * One order's whole life: the only writer of its state. It ends when the order's status is final
 * and each of its webhooks has been delivered or has failed for good.
 */
export async function orderWorkflow(input: OrderInput): Promise<OrderResult> {
  // Before the handlers: a Signal that came before this first task runs inside setHandler, at once.
  const order = new Order(input);
  for (const name of MESSAGE_NAMES) receive(order, name);
  setHandler(defineSignal(CATCH_UP_SIGNAL), () => order.inbox.requestCatchUp());

  // Money is held here: cancelling the workflow must not drop it. Operators cancel the order.
  await CancellationScope.nonCancellable(async () => {
    await order.begin();
    while (!order.isComplete()) {
      if (await order.isRunFull()) await continueAsNew<typeof orderWorkflow>(order.nextRun(input));
      await order.apply(await order.nextEvent());
    }
  });
  return order.result();
}

/** An Update refuses at once, leaving no event behind; a Signal that is refused is dropped. */
function receive(order: Order, name: OrderMessageName): void {
  setHandler(defineSignal<[IncomingMessage | undefined]>(name), (message) =>
    order.inbox.signal(name, message),
  );
  setHandler(
    defineUpdate<void, [IncomingMessage | undefined]>(name),
    (message) => order.inbox.update(name, message),
    { validator: (message) => order.validate(name, message) },
  );
}
