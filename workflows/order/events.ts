import type { QueuedCommand } from './messages.ts';

/** An event that an order applies. One is applied at a time. */
export type OrderEvent =
  /** The command of a message, or of a deadline that has passed. */
  | { kind: 'command'; queued: QueuedCommand }
  /** The command that follows from the result of the pending gateway operation. */
  | { kind: 'gateway'; queued: QueuedCommand }
  /** The order reads its row: something waits there, or row and workflow may differ. */
  | { kind: 'wake' }
  /** A webhook of a final order was accepted, or is FAILED after its fifth attempt. */
  | { kind: 'webhookEnded' };
