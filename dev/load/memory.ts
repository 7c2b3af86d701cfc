import type { OrderStatus, StepKind } from '../../src/domain/index.ts';

/** A command of a merchant, a buyer or an operator, with the answer that its sender got. */
export interface AcknowledgedCommand {
  /** The end of the command's path, from which its id is made: `deliver`, `dispute/accept`. */
  readonly operation: string;
  readonly idempotencyKey: string;
  /** The step that carries it out. */
  readonly step: StepKind;
  /** The status of the answer: 2xx, or 4xx for a refusal. */
  readonly status: number;
  /** When the answer arrived. */
  readonly atMs: number;
}

/** An order as its merchant knows it: only what was answered. */
export interface AcknowledgedOrder {
  readonly merchantId: string;
  /** Of its creation. */
  readonly idempotencyKey: string;
  /** Each order number that an answer to this key named: more than one is a duplicate. */
  readonly orderNumbers: Set<string>;
  /** When the first answer to its creation arrived. */
  createdAtMs?: number;
  readonly commands: AcknowledgedCommand[];
  /** The status in which it must end; undefined if its merchant does not know. */
  finalStatus?: OrderStatus;
  /** The most captures that its buyer's payments can have caused; undefined if that is not known. */
  mostCaptures?: number;
}

/** What a merchant's endpoint received of one event, in any number of attempts. */
export interface ReceivedEvent {
  readonly orderNumber: string;
  readonly type: string;
  readonly sequence: number;
  /** The order's, in the body. */
  readonly status: string;
  /** When the first attempt arrived. */
  readonly atMs: number;
  /** SHA-256 of each different body, in hexadecimal. */
  readonly bodyHashes: Set<string>;
  /** The attempts that were answered with 2xx. */
  accepted: number;
}

/** Everything that merchants, buyers and endpoints remember of a run. */
export interface Memory {
  readonly orders: AcknowledgedOrder[];
  /** By event id. */
  readonly received: Map<string, ReceivedEvent>;
  /** Answers and webhooks that must not be: each with its order number, if it has one. */
  readonly surprises: { readonly subject: string; readonly fault: string }[];
}
