import type { RecordedStep } from '../../src/contracts/activities.ts';
import type { QueuedCommand } from './messages.ts';

/** The result of a gateway operation: a command, or steps that its activity has recorded. */
export type GatewayResult =
  | { kind: 'command'; queued: QueuedCommand }
  | { kind: 'recorded'; recorded: RecordedStep[] }
  | { kind: 'catchUp' };

/** What an order applies, one event at a time. */
export type OrderEvent =
  /** The command of a message, or of a deadline that has passed. */
  | { kind: 'command'; queued: QueuedCommand }
  | { kind: 'gateway'; result: GatewayResult }
  /** The database and the workflow may have different steps. */
  | { kind: 'catchUp' }
  /** A webhook of a final order was delivered, or has FAILED after its fifth attempt. */
  | { kind: 'deliverySettled' };
