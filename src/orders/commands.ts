import type { OrderMessageName } from '../contracts/order-workflow.ts';
import type { CreateOrderDeps, CreateOrderRequest } from './create-order.ts';
import { createOrder } from './create-order.ts';
import type { OrderRow } from './rows.ts';
import type { CommandResult, DisputeCommand, OrderCommand, SendDeps } from './send-command.ts';
import { findRepeated, raiseDispute, sendCommand } from './send-command.ts';

/** The dependencies of {@link createOrderCommands}. */
export type OrderDeps = CreateOrderDeps & SendDeps;

/** The commands on orders. Each is idempotent. */
export interface OrderCommands {
  /** Inserts the order's row, then starts its workflow. When this returns, both exist. */
  create(request: CreateOrderRequest): Promise<CommandResult>;
  /**
   * Records the command, then sends its message to the order's workflow.
   *
   * @throws DomainError the refusal
   */
  send<Name extends OrderMessageName>(command: OrderCommand<Name>): Promise<CommandResult>;
  /**
   * Records a buyer's dispute, then sends it to the order's workflow. A recorded dispute is valid: the
   * workflow must not refuse it.
   *
   * @throws DomainError the refusal
   */
  raiseDispute(dispute: DisputeCommand): Promise<CommandResult>;
  /**
   * Returns the result of a command that was carried out before. A caller checks this before it does
   * work that a repeat must not do again, such as a payment.
   */
  findRepeated(order: OrderRow, commandId: string): Promise<CommandResult | undefined>;
}

/** Binds the commands to their dependencies. */
export function createOrderCommands(deps: OrderDeps): OrderCommands {
  return {
    create: (request) => createOrder(deps, request),
    send: (command) => sendCommand(deps, command),
    raiseDispute: (dispute) => raiseDispute(deps, dispute),
    findRepeated: ({ orderNumber }, commandId) => findRepeated(deps, orderNumber, commandId, {}),
  };
}
