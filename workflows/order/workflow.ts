import {
  CancellationScope,
  continueAsNew,
  defineSignal,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
import { WAKE_SIGNAL } from '../../src/contracts/ids.ts';
import type {
  IncomingMessage,
  OrderInput,
  OrderMessageName,
  OrderResult,
} from '../../src/contracts/order-workflow.ts';
import { MESSAGE_NAMES } from './messages.ts';
import { Order } from './order.ts';

/**
 * The lifecycle of one order, and the only writer of its state. It ends when the status is final and every webhook
 * that it sends was accepted or is FAILED.
 */
export async function orderWorkflow(input: OrderInput): Promise<OrderResult> {
  // Created before the handlers, because setHandler runs the Signals that arrived before the first task.
  const order = new Order(input);
  for (const name of MESSAGE_NAMES) receive(order, name);
  setHandler(defineSignal(WAKE_SIGNAL), () => order.inbox.wake());

  // The order holds money, so cancelling the workflow must not end it. Operators cancel the order instead.
  await CancellationScope.nonCancellable(async () => {
    await order.begin();
    while (!order.isComplete()) {
      if (await order.isRunFull()) await continueAsNew<typeof orderWorkflow>(order.nextRun(input));
      await order.apply(await order.nextEvent());
    }
  });
  return order.result();
}

/** A refused Update leaves no event in the history. A refused Signal is dropped. */
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
