import { activityInfo, ApplicationFailure } from '@temporalio/activity';
import type { Duration } from '@temporalio/common';
import type { MoneyActivities } from '../src/contracts/activities.ts';
import { clearAlert } from '../src/alerts/alerts.ts';
import { findOrderByNumber } from '../src/orders/find-order.ts';
import type { BeginMails } from '../src/mail/attempt.ts';
import * as funds from '../src/payments/funds/funds.ts';
import type { SurplusDeps } from '../src/payments/funds/refunds.ts';
import { refundOrder, refundSurplus } from '../src/payments/funds/refunds.ts';
import { mustWaitForBalance } from '../src/payments/funds/balance.ts';
import { GatewayRefused, INSUFFICIENT_BALANCE } from '../src/payments/gateway/gateway.ts';
import { paymentSubject } from '../src/payments/gateway/gateways.ts';
import { reconcilePayments } from '../src/payments/reconcile/reconcile.ts';
import type { SessionDeps } from '../src/payments/sessions/sessions.ts';
import { closeOpenSession } from '../src/payments/sessions/sessions.ts';
import { withHeartbeats } from './heartbeats.ts';

export type MoneyDeps = SessionDeps & SurplusDeps;

/** The retry interval of a release whose payment was reversed at the gateway meanwhile. */
const RETRY_BLOCKED = '30 minutes';

/** The retry interval after a permanent refusal: an operator may have removed the cause. */
const RETRY_REFUSED = '1 hour';

/** The retry interval of a refund or release that the platform's balance does not cover yet. */
const RETRY_BALANCE = '25 seconds';

/** Moves orders' money. Each call is idempotent: it looks for what an earlier one has moved under its key. */
export function createMoneyActivities(deps: MoneyDeps, beginMails: BeginMails): MoneyActivities {
  return {
    releaseFunds: ({ orderNumber }) =>
      alertingOnRefusal(deps, orderNumber, () => funds.releaseFunds(deps, orderNumber)),
    refundPayment: ({ orderNumber, reason }) =>
      alertingOnRefusal(deps, orderNumber, () => refundOrder(deps, orderNumber, reason)),
    async refundSurplus(payment) {
      const mails = await alertingOnRefusal(deps, paymentSubject(payment), () =>
        refundSurplus(deps, payment),
      );
      beginMails(mails);
    },
    async closePaymentSession({ orderNumber }) {
      return closeOpenSession(deps, await findOrderByNumber(deps.sql, orderNumber));
    },
    reconcilePayments: (shard) => withHeartbeats(() => reconcilePayments(deps, shard)),
  };
}

/** Raises an alert when the gateway refuses permanently; Temporal then retries hourly, or soon if it lacks balance. */
async function alertingOnRefusal<Result>(
  deps: MoneyDeps,
  subject: string,
  move: () => Promise<Result>,
): Promise<Result> {
  // The first attempt calls the gateway: the balance may suffice for it.
  if (activityInfo().attempt > 1 && (await mustWaitForBalance(deps.sql, subject))) {
    const message =
      "The gateway has just refused another operation: the platform's balance is too small";
    throw refused(message, RETRY_BALANCE);
  }
  try {
    const result = await move();
    // No row says that the gateway accepts what it refused, such as to list the refunds of a payment.
    await clearAlert(deps.sql, 'gateway_refused', subject, 'the gateway no longer refuses');
    return result;
  } catch (error) {
    if (error instanceof funds.ReleaseBlocked) {
      await funds.alertReleaseBlocked(deps, subject, error);
      throw ApplicationFailure.create({
        message: error.message,
        type: 'RELEASE_WAITS',
        nextRetryDelay: RETRY_BLOCKED,
        cause: error,
      });
    }
    if (!(error instanceof GatewayRefused)) throw error;
    await funds.alertGatewayRefused(deps, subject, error);
    const delay = error.code === INSUFFICIENT_BALANCE ? RETRY_BALANCE : RETRY_REFUSED;
    throw refused(error.message, delay, error);
  }
}

const refused = (message: string, nextRetryDelay: Duration, cause?: Error) =>
  ApplicationFailure.create({
    message,
    type: 'GATEWAY_REFUSED',
    nextRetryDelay,
    ...(cause && { cause }),
  });
