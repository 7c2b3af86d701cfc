import { activityInfo, heartbeat, sleep } from '@temporalio/activity';
import type { ListingActivities, SweepActivities } from '../src/contracts/activities.ts';
import type { Comparison } from '../src/orders/compare-orders.ts';
import { compareOrders } from '../src/orders/compare-orders.ts';
import { forEachOrder } from '../src/for-each-order.ts';
import { sealLedgerLines } from '../src/ledger/seal-ledger.ts';
import { sealOrderBlocks } from '../src/orders/order-blocks.ts';
import {
  findOrdersBehind,
  findUnprocessedDisputes,
  findUnstartedOrders,
  findOrdersWithUnsentWebhooks,
  markAcknowledged,
} from '../src/orders/queries.ts';
import { findUnstartedMails } from '../src/mail/queries.ts';
import { signalOrder, startUnstarted } from '../src/orders/recovery.ts';
import type { RecoveryDeps } from '../src/orders/recovery.ts';
import { sendPendingWebhooks } from '../src/orders/unsent-webhooks.ts';
import type { MailDeps } from '../src/mail/public.ts';
import { sendMail } from '../src/mail/public.ts';
import { warnOfLastAttempts } from '../src/webhooks/last-attempts.ts';
import { findUnfinishedResends } from '../src/webhooks/resend.ts';
import type { DeliveryRetries } from '../src/temporal/delivery-retries.ts';

const ORDERS_PER_SWEEP = 500;
const MAILS_PER_SWEEP = 500;
const CONCURRENT_ORDERS = 10;

/**
 * The share of its time in which a comparison works. It reads all open orders: at 100,000 of them it would use a
 * processor all the time.
 */
const COMPARISON_SHARE = 0.25;
/** Shorter than the heartbeat's time limit, also after a page that Temporal has kept waiting. */
const MAX_PAUSE_MS = 10_000;

/** The dependencies of the activities that the Schedules run. */
export interface SweepDeps extends RecoveryDeps, MailDeps {
  publicBaseUrl: string;
  retries: DeliveryRetries;
  /** The minimum age of an order, a step, a dispute, … before the sweep handles it. */
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
export function createSweepActivities(deps: SweepDeps): SweepActivities & ListingActivities {
  const { sql, workflows, mails, retries, sweepAfterMs, log } = deps;
  const options = { log, concurrency: CONCURRENT_ORDERS };

  return {
    async startUnstartedOrders() {
      const orders = await findUnstartedOrders(sql, sweepAfterMs, ORDERS_PER_SWEEP);
      const start = (order: (typeof orders)[number]) => startUnstarted(workflows, order);
      await forEachOrder(orders, ({ orderNumber }) => orderNumber, start, options);
      const behind = await findOrdersBehind(sql, sweepAfterMs, ORDERS_PER_SWEEP);
      const catchUp = async (order: (typeof behind)[number]) => {
        await workflows.catchUp(order.orderNumber);
        await markAcknowledged(sql, order);
      };
      await forEachOrder(behind, ({ orderNumber }) => orderNumber, catchUp, options);
      const disputes = await findUnprocessedDisputes(sql, sweepAfterMs, ORDERS_PER_SWEEP);
      const notify = ({ orderNumber, commandId, receivedAt }: (typeof disputes)[number]) =>
        signalOrder(deps, orderNumber, 'dispute', {
          commandId,
          receivedAtMs: receivedAt.getTime(),
        });
      await forEachOrder(disputes, ({ orderNumber }) => orderNumber, notify, options);
      const unsent = await findOrdersWithUnsentWebhooks(sql, sweepAfterMs, ORDERS_PER_SWEEP);
      const send = ({ orderNumber }: (typeof unsent)[number]) =>
        sendPendingWebhooks(deps, orderNumber);
      await forEachOrder(unsent, ({ orderNumber }) => orderNumber, send, options);
      if (orders.length > 0) log.warn({ started: orders.length }, 'The sweep started orders');
      return { started: orders.length };
    },

    async startUnstartedMails() {
      const mailIds = await findUnstartedMails(sql, sweepAfterMs, MAILS_PER_SWEEP);
      for (const mailId of mailIds) await mails.start(mailId);
      if (mailIds.length > 0) log.warn({ started: mailIds.length }, 'The sweep started mails');
      return { started: mailIds.length };
    },

    async startUnfinishedResends() {
      // A running workflow is left as it is.
      const resendIds = await findUnfinishedResends(sql, sweepAfterMs);
      for (const resendId of resendIds) await retries.startResend(resendId);
      return { unfinished: resendIds.length };
    },

    async warnOfLastAttempts() {
      return warnOfLastAttempts({ ...deps, sendMail: (mail) => sendMail(deps, mail) });
    },

    async compareOrders() {
      // The last heartbeat of the previous attempt contains its progress.
      const from = activityInfo().heartbeatDetails as Comparison | undefined;
      const { compared, recovered } = await compareOrders(deps, heartbeatAndPause(), from);
      if (recovered > 0) log.warn({ compared, recovered }, 'Orders differed from their workflows');
      return { compared, recovered };
    },

    async sealOrderBlocks() {
      await sealLedgerLines(sql);
      return { sealed: await sealOrderBlocks(sql) };
    },
  };
}
