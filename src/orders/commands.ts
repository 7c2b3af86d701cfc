import type { OrderMessageName } from '../contracts/order-workflow.ts';
import type { CreateOrderDeps, CreateOrderRequest } from './create-order.ts';
import { createOrder } from './create-order.ts';
import type { OrderRow } from './rows.ts';
import type { CommandResult, DisputeCommand, OrderCommand, SendDeps } from './send-command.ts';
import { findRepeated, raiseDispute, sendCommand } from './send-command.ts';

/** What the commands of orders need. */
export type OrderDeps = CreateOrderDeps & SendDeps;

/** The commands of orders. A client can repeat each of them safely. */
export interface OrderCommands {
  /** Writes the order's row, then starts its workflow. When this returns, both exist. */
  create(request: CreateOrderRequest): Promise<CommandResult>;
  /**
   * Records the command, then sends its message to the order's workflow.
   *
   * @throws DomainError the refusal
   */
  send<Name extends OrderMessageName>(command: OrderCommand<Name>): Promise<CommandResult>;
  /**
   * Records a buyer's dispute, which makes it count, and raises it.
   *
   * @throws DomainError the refusal
   */
  raiseDispute(dispute: DisputeCommand): Promise<CommandResult>;
  /** The result of a request that was carried out before; a caller that has work to do first asks. */
  findRepeated(order: OrderRow, commandId: string): Promise<CommandResult | undefined>;
}

export function createOrderCommands(deps: OrderDeps): OrderCommands {
  return {
    create: (request) => createOrder(deps, request),
    send: (command) => sendCommand(deps, command),
    raiseDispute: (dispute) => raiseDispute(deps, dispute),
    findRepeated: ({ orderNumber }, commandId) => findRepeated(deps, orderNumber, commandId, {}),
  };
}
