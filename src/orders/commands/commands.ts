import type { CreateOrderDeps, CreateOrderRequest } from './create-order.ts';
import { createOrder } from './create-order.ts';
import type { DisputeCommand } from './command-queries.ts';
import type { OrderCommand, SendDeps, SentMessage } from './send-command.ts';
import { raiseDispute, sendCommand } from './send-command.ts';

export type OrderDeps = CreateOrderDeps & SendDeps;

/** The commands on orders, bound to their dependencies. Each is idempotent. */
export type OrderCommands = ReturnType<typeof createOrderCommands>;

export function createOrderCommands(deps: OrderDeps) {
  return {
    create: (request: CreateOrderRequest) => createOrder(deps, request),
    send: <Name extends SentMessage>(command: OrderCommand<Name>) => sendCommand(deps, command),
    raiseDispute: (dispute: DisputeCommand) => raiseDispute(deps, dispute),
  };
}
