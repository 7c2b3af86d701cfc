import * as activities from './activities.ts';

/**
 * Waits until all activities have ended: if the workflow failed at the first failure, it would cut the others off.
 *
 * @throws the first failure, in the order of the list
 */
async function allEnded<Running extends readonly unknown[] | []>(
  running: Running,
): Promise<{ -readonly [Index in keyof Running]: Awaited<Running[Index]> }> {
  await Promise.allSettled(running);
  return Promise.all(running);
}

/**
 * Wakes the orders that are due, starts workflows that a row requires and a dead process has not started, writes the
 * mails about failing webhooks and about deadlines of disputes, and carries out approved proposals that are not
 * done.
 */
export async function sweep(): Promise<{ woken: number; mails: number }> {
  const [orders, mails] = await allEnded([
    activities.wakeDueOrders(),
    activities.startUnstartedMails(),
    activities.startUnfinishedResends(),
    activities.warnOfFailingEndpoints(),
    activities.remindOfDisputes(),
    activities.sweepProposals(),
  ]);
  return { woken: orders.woken, mails: mails.started };
}

/** How many activities reconcile in parallel, each with an equal part of the sessions. */
const RECONCILE_PARTS = 4;

/** Finds payments whose callbacks were lost. */
export async function reconcilePayments(): Promise<{ sessions: number; captures: number }> {
  const parts = Array.from({ length: RECONCILE_PARTS }, (_, index) =>
    activities.reconcilePayments({ index, count: RECONCILE_PARTS }),
  );
  const found = await allEnded(parts);
  return {
    sessions: found.reduce((sum, { sessions }) => sum + sessions, 0),
    captures: found.reduce((sum, { captures }) => sum + captures, 0),
  };
}
