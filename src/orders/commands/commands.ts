import type { OrderMessageName } from '../../contracts/order-workflow.ts';
import type { CommandRef } from './command-queries.ts';
import type { CreateOrderDeps, CreateOrderRequest } from './create-order.ts';
import { createOrder } from './create-order.ts';
import type { DisputeCommand, OrderCommand, SendDeps } from './send-command.ts';
import { findRepeated, raiseDispute, sendCommand } from './send-command.ts';

export type OrderDeps = CreateOrderDeps & SendDeps;

/** The commands on orders, bound to their dependencies. Each is idempotent. */
export type OrderCommands = ReturnType<typeof createOrderCommands>;

export function createOrderCommands(deps: OrderDeps) {
  return {
    create: (request: CreateOrderRequest) => createOrder(deps, request),
    send: <Name extends OrderMessageName>(command: OrderCommand<Name>) =>
      sendCommand(deps, command),
    raiseDispute: (dispute: DisputeCommand) => raiseDispute(deps, dispute),
    /**
     * Returns the result of a command that was carried out before. Call it before work that a repeat must not do
     * again, such as a payment.
     */
    findRepeated: (command: CommandRef) => findRepeated(deps, command, {}),
  };
}
