import type { RecordedStep } from '../../src/contracts/activities.ts';
import type { Request } from './messages.ts';

/** What the gateway answered: a command that follows from it, or steps that are recorded already. */
export type GatewayResult =
  | { kind: 'request'; request: Request }
  | { kind: 'recorded'; recorded: RecordedStep[] }
  | { kind: 'catchUp' };

/** What an order applies, one at a time. */
export type OrderEvent =
  /** Of a message, or of the deadline that passed. */
  | { kind: 'request'; request: Request }
  | { kind: 'gateway'; result: GatewayResult }
  /** Database and workflow may have different steps. */
  | { kind: 'catchUp' }
  /** Of a final order a webhook has arrived, or is FAILED after its fifth attempt. */
  | { kind: 'deliverySettled' };
