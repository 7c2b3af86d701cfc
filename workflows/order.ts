import { CancellationScope, defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import { CATCH_UP_SIGNAL } from '../src/contracts/ids.ts';
import type {
  IncomingMessage,
  OrderInput,
  OrderMessageName,
  OrderResult,
} from '../src/contracts/order-workflow.ts';
import { createOrder } from '../src/domain/index.ts';
import { OrderProcess } from './order-process.ts';

const MESSAGE_NAMES = [
  'pay',
  'failPayment',
  'deliver',
  'cancel',
  'dispute',
  'submitEvidence',
  'resolve',
  'accept',
  'decide',
  'advance',
  'settle',
] as const satisfies readonly OrderMessageName[];

/**
 * One order's whole life: the only writer of its state. It ends when the order's status is final
 * and each of its webhooks has been delivered or has failed for good.
 */
export async function order(input: OrderInput): Promise<OrderResult> {
  const created = createOrder(input.terms, input.createdAtMs, input.paymentLinkExpiresAtMs);
  // Before the handlers: a Signal that came before this first task runs inside setHandler, at once.
  const process = new OrderProcess(input, created.state);
  for (const name of MESSAGE_NAMES) receive(process, name);
  setHandler(defineSignal(CATCH_UP_SIGNAL), () => process.askToCatchUp());

  // Money is held here: cancelling the workflow must not drop it. Operators cancel the order.
  await CancellationScope.nonCancellable(async () => {
    await process.record.write(created);
    while (!process.isOver()) {
      await process.handleNext();
    }
  });
  const { status, disputeCount, eventSequence } = process.record.state;
  return { status, disputeCount, webhookEvents: eventSequence };
}

/** An Update refuses at once, leaving no event behind; a Signal that is refused is dropped. */
function receive(process: OrderProcess, name: OrderMessageName): void {
  setHandler(defineSignal<[IncomingMessage | undefined]>(name), (message) =>
    process.signal(name, message),
  );
  setHandler(
    defineUpdate<void, [IncomingMessage | undefined]>(name),
    (message) => process.update(name, message),
    { validator: (message) => process.validate(name, message) },
  );
}
