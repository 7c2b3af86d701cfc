/** What other features may import from the orders. */
export { authorizeOrder, orderErrors } from './authorize-order.ts';
export { exampleEventBody, NO_ORDER } from './example-event.ts';
export { findOrderAnywhere, findOrderByNumber } from './find-orders.ts';
export { findOrder } from './queries.ts';
export type { DisputeEnding, DisputeRecord, RunningDispute } from './disputes.ts';
export { listRunningDisputes, readDisputes } from './disputes.ts';
export type { Timeline } from './timeline.ts';
export { presentTimeline, readTimeline } from './timeline.ts';
export { signalOrder } from './recovery.ts';
export { findCarriedOut, writeCommand } from './command-queries.ts';
export type { OrderRow } from './rows.ts';
