/** Waits until the work that has already been queued in this process is done. It waits for no time. */
export { setImmediate as endOfTurn } from 'node:timers/promises';
