import { activityInfo, heartbeat, sleep } from '@temporalio/activity';
import type { ListingActivities, SweepActivities } from '../src/contracts/activities.ts';
import type { Comparison } from '../src/orders/wake/compare-orders.ts';
import type { BeginMails } from '../src/mail/background-mails.ts';
import { remindOfDisputes } from '../src/orders/mails/dispute-reminders.ts';
import type { OrderMailDeps } from '../src/orders/mails/step-mails.ts';
import { compareOrders } from '../src/orders/wake/compare-orders.ts';
import { sealLedgerLines } from '../src/ledger/seal-ledger.ts';
import { sealOrderBlocks } from '../src/orders/lists/order-blocks.ts';
import { findUnstartedMails } from '../src/mail/queries.ts';
import type { WakeDeps } from '../src/orders/wake/wake-order.ts';
import { wakeDueOrders } from '../src/orders/wake/wakeups.ts';
import type { MailDeps } from '../src/mail/public.ts';
import { carryOutUnfinished } from '../src/proposals/carry-out.ts';
import type { ProposalDeps } from '../src/proposals/context.ts';
import { warnOfDeadlines } from '../src/proposals/deadlines.ts';
import { sendMail } from '../src/mail/public.ts';
import { clearClockSkew } from '../src/webhooks/sending/clock.ts';
import { warnOfFailingEndpoints } from '../src/webhooks/schedule/failing-warnings.ts';
import { findUnfinishedResends } from '../src/webhooks/resend/resend-progress.ts';
import type { DeliveryRetries } from '../src/temporal/delivery-retries.ts';
import { withHeartbeats } from './heartbeats.ts';

const MAILS_PER_SWEEP = 500;

/**
 * The largest share of its time in which a comparison works. It reads all open orders: with 100,000 of them it would
 * otherwise use a whole processor.
 */
const COMPARISON_SHARE = 0.25;
/** Shorter than the heartbeat's time limit, also after a page that Temporal has kept waiting. */
const MAX_PAUSE_MS = 10_000;

export interface SweepDeps extends WakeDeps, MailDeps, ProposalDeps {
  /** Undefined where orders send no mails. */
  orderMails?: OrderMailDeps | undefined;
  retries: DeliveryRetries;
  /** The minimum age of a mail or a resend before the sweep handles it. */
  sweepAfterMs: number;
}

/** Makes the function that a comparison calls after each page. */
function heartbeatAndPause() {
  let beganAtMs = performance.now();
  return async (comparison: Comparison) => {
    heartbeat(comparison);
    const workedMs = performance.now() - beganAtMs;
    await sleep(Math.min(workedMs / COMPARISON_SHARE - workedMs, MAX_PAUSE_MS));
    beganAtMs = performance.now();
  };
}

/** The activities of the Schedules: they find what a crash or a restored backup left unfinished. */
export function createSweepActivities(
  deps: SweepDeps,
  beginMails: BeginMails,
): SweepActivities & ListingActivities {
  const { sql, mails, retries, sweepAfterMs, log } = deps;

  async function startUnstartedMails() {
    const mailIds = await findUnstartedMails(sql, sweepAfterMs, MAILS_PER_SWEEP);
    for (const mailId of mailIds) await mails.start(mailId);
    if (mailIds.length > 0) log.warn({ started: mailIds.length }, 'The sweep started mails');
    return { started: mailIds.length };
  }

  async function startUnfinishedResends() {
    // A running workflow is left as it is.
    const resendIds = await findUnfinishedResends(sql, sweepAfterMs);
    for (const resendId of resendIds) await retries.startResend(resendId);
    return { unfinished: resendIds.length };
  }

  async function sealBlocks() {
    await sealLedgerLines(sql);
    return { sealed: await sealOrderBlocks(sql) };
  }

  async function remind() {
    const { orderMails } = deps;
    if (orderMails === undefined) return { mails: 0 };
    const reminders = await remindOfDisputes({ sql, orderMails }, MAILS_PER_SWEEP);
    beginMails(reminders);
    return { mails: reminders.length };
  }

  async function sweepProposals() {
    const { carriedOut } = await carryOutUnfinished(deps, sweepAfterMs);
    return { carriedOut, ...(await warnOfDeadlines(deps)) };
  }

  return {
    wakeDueOrders: () => withHeartbeats(() => wakeDueOrders(deps)),
    startUnstartedMails: () => withHeartbeats(startUnstartedMails),
    startUnfinishedResends: () => withHeartbeats(startUnfinishedResends),
    warnOfFailingEndpoints: () =>
      withHeartbeats(async () => {
        await clearClockSkew(deps);
        return warnOfFailingEndpoints({ ...deps, sendMail: (mail) => sendMail(deps, mail) });
      }),
    remindOfDisputes: () => withHeartbeats(remind),
    sweepProposals: () => withHeartbeats(sweepProposals),

    async compareOrders() {
      // The last heartbeat of the previous attempt contains its progress.
      const from = activityInfo().heartbeatDetails as Comparison | undefined;
      const options = { onPage: heartbeatAndPause(), from };
      const { compared, woken } = await compareOrders(deps, options);
      if (woken > 0) log.warn({ compared, woken }, 'Orders differed from their workflows');
      return { compared, woken };
    },

    sealOrderBlocks: () => withHeartbeats(sealBlocks),
  };
}
