import { activityInfo, heartbeat, sleep } from '@temporalio/activity';
import type { ScheduleActivities } from '../src/contracts/activities.ts';
import type { PaymentRef } from '../src/contracts/ids.ts';
import type { Sql } from '../src/db/client.ts';
import type { Comparison } from '../src/orders/wake/compare-orders.ts';
import type { BeginMails } from '../src/mail/attempt.ts';
import { remindOfDisputes } from '../src/orders/mails/dispute-reminders.ts';
import type { OrderMailDeps } from '../src/orders/mails/step-mails.ts';
import { compareOrders } from '../src/orders/wake/compare-orders.ts';
import { proveLedger } from '../src/ledger/proofs.ts';
import { sealLedgerLines } from '../src/ledger/seal-ledger.ts';
import { sealOrderBlocks } from '../src/orders/lists/order-blocks.ts';
import type { CaptureDeps } from '../src/payments/captures/captures.ts';
import { alertOnDifferences } from '../src/payments/reconcile/compare-gateway.ts';
import { deleteExpiredData } from '../src/privacy/retention.ts';
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

export interface ScheduleDeps extends WakeDeps, MailDeps, ProposalDeps, CaptureDeps {
  /** A pool whose statements may take minutes, because the proof of the ledger reads every order. */
  ledgerSql: Sql;
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

async function startUnstartedMails({ sql, mails, sweepAfterMs, log }: ScheduleDeps) {
  const mailIds = await findUnstartedMails(sql, sweepAfterMs, MAILS_PER_SWEEP);
  for (const mailId of mailIds) await mails.start(mailId);
  if (mailIds.length > 0) log.warn({ started: mailIds.length }, 'The sweep started mails');
  return { started: mailIds.length };
}

async function startUnfinishedResends({ sql, retries, sweepAfterMs }: ScheduleDeps) {
  // A running workflow is left as it is.
  const resendIds = await findUnfinishedResends(sql, sweepAfterMs);
  for (const resendId of resendIds) await retries.startResend(resendId);
  return { unfinished: resendIds.length };
}

async function remind({ sql, orderMails }: ScheduleDeps, beginMails: BeginMails) {
  if (orderMails === undefined) return { mails: 0 };
  const reminders = await remindOfDisputes({ sql, orderMails }, MAILS_PER_SWEEP);
  beginMails(reminders);
  return { mails: reminders.length };
}

/** The activities of the Schedules: they find what a crash or a restored backup left unfinished. */
export function createScheduleActivities(
  deps: ScheduleDeps,
  beginMails: BeginMails,
): ScheduleActivities {
  const { sql, ledgerSql, sweepAfterMs, log } = deps;
  return {
    wakeDueOrders: () => withHeartbeats(() => wakeDueOrders(deps)),
    startUnstartedMails: () => withHeartbeats(() => startUnstartedMails(deps)),
    startUnfinishedResends: () => withHeartbeats(() => startUnfinishedResends(deps)),
    warnOfFailingEndpoints: () =>
      withHeartbeats(async () => {
        await clearClockSkew(deps);
        return warnOfFailingEndpoints({ ...deps, sendMail: (mail) => sendMail(deps, mail) });
      }),
    remindOfDisputes: () => withHeartbeats(() => remind(deps, beginMails)),
    sweepProposals: () =>
      withHeartbeats(async () => {
        const { carriedOut } = await carryOutUnfinished(deps, sweepAfterMs);
        return { carriedOut, ...(await warnOfDeadlines(deps)) };
      }),
    sealOrderBlocks: () =>
      withHeartbeats(async () => {
        await sealLedgerLines(sql);
        return { sealed: await sealOrderBlocks(sql) };
      }),

    async compareOrders() {
      // The last heartbeat of the previous attempt contains its progress.
      const from = activityInfo().heartbeatDetails as Comparison | undefined;
      const options = { onPage: heartbeatAndPause(), from };
      const { compared, woken } = await compareOrders(deps, options);
      if (woken > 0) log.warn({ compared, woken }, 'Orders differed from their workflows');
      return { compared, woken };
    },

    async compareWithGateway() {
      // The last heartbeat of the previous attempt contains its progress.
      const from = activityInfo().heartbeatDetails as PaymentRef | undefined;
      const onPage = async ({ gateway, gatewayPaymentId }: PaymentRef) =>
        heartbeat({ gateway, gatewayPaymentId });
      return alertOnDifferences(deps, { from, onPage });
    },

    async verifyLedger() {
      const { ok, faultCount } = await proveLedger({ sql: ledgerSql, log });
      return { ok, faultCount };
    },

    async deleteExpiredData() {
      const deleted = await deleteExpiredData(deps, heartbeat);
      const rows = Object.values(deleted).reduce((sum, count) => sum + count, 0);
      if (rows > 0) log.info({ deleted }, 'Data that has passed its time was deleted');
      return deleted;
    },
  };
}
