import type { KnownStep } from '../../src/contracts/order-workflow.ts';
import type { QueuedCommand } from './messages.ts';

/** The result of a gateway operation: a command, or the step that its activity has recorded. */
export type GatewayResult =
  | { kind: 'command'; queued: QueuedCommand }
  | { kind: 'recorded'; recorded: KnownStep }
  | { kind: 'wake' };

/** An event that an order applies. One is applied at a time. */
export type OrderEvent =
  /** The command of a message, or of a deadline that has passed. */
  | { kind: 'command'; queued: QueuedCommand }
  | { kind: 'gateway'; result: GatewayResult }
  /** The order reads its row: something waits there, or row and workflow may differ. */
  | { kind: 'wake' }
  /** A webhook of a final order was accepted, or is FAILED after its fifth attempt. */
  | { kind: 'webhookEnded' };
