import { continueAsNew, sleep } from '@temporalio/workflow';
import type { ResendPage, ResendPageResult } from '../src/contracts/activities.ts';
import { attemptManually, continueResend } from './activities.ts';

/** Half of an endpoint's slots. New webhooks need the others. */
const CONCURRENT_ATTEMPTS = 4;
/** Longer than an attempt leases its delivery. */
const OTHER_ATTEMPT_ENDS_AFTER = '30 seconds';
/** About 6,000 events of history. */
const PAGES_PER_RUN = 10;

/** Sends many deliveries again, a few at a time. The database has the list and the progress. */
export async function resendDeliveries({ resendId }: { resendId: string }): Promise<void> {
  let page = await continueResend({ resendId });
  for (let pages = 1; page !== null; pages += 1) {
    const done = await sendPage(page);
    page = await continueResend({ resendId, done });
    if (pages === PAGES_PER_RUN && page !== null) {
      await continueAsNew<typeof resendDeliveries>({ resendId });
    }
  }
}

async function sendPage({ from, through, deliveryIds }: ResendPage): Promise<ResendPageResult> {
  const done = { from, through, accepted: 0, refused: 0, hasUrl: true };
  const underWay = await sendAll(deliveryIds, done);
  if (underWay.length > 0) {
    await sleep(OTHER_ATTEMPT_ENDS_AFTER);
    await sendAll(underWay, done);
  }
  return done;
}

/** @returns the deliveries that were not attempted, because another attempt of them is in progress */
async function sendAll(
  deliveryIds: readonly string[],
  done: Pick<ResendPageResult, 'accepted' | 'refused' | 'hasUrl'>,
): Promise<string[]> {
  const underWay: string[] = [];
  const queue = deliveryIds.values();
  const sendQueued = async () => {
    for (const deliveryId of queue) {
      if (!done.hasUrl) return;
      const { outcome } = await attemptManually({ deliveryId });
      if (outcome === 'running') underWay.push(deliveryId);
      else if (outcome === 'no_url') done.hasUrl = false;
      else done[outcome] += 1;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_ATTEMPTS }, sendQueued));
  return underWay;
}
