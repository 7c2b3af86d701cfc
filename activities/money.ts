import { ApplicationFailure, heartbeat } from '@temporalio/activity';
import type {
  MoneyActivities,
  MoveFundsInput,
  PaymentSessionActivities,
  ReconcileActivities,
  RecordedStep,
  RecordStepInput,
  RecordStepResult,
  SurplusActivities,
} from '../src/contracts/activities.ts';
import { clearAlert, raiseAlert } from '../src/alerts/alerts.ts';
import type { Command, Settlement } from '../src/domain/index.ts';
import { decide, SETTLE_COMMANDS, stateAfter } from '../src/domain/index.ts';
import { findOrderByNumber } from '../src/orders/find-orders.ts';
import * as funds from '../src/payments/funds.ts';
import { GatewayRefused } from '../src/payments/gateway.ts';
import { paymentSubject } from '../src/payments/gateways.ts';
import type { ReconcileDeps } from '../src/payments/reconcile.ts';
import { reconcilePayments } from '../src/payments/reconcile.ts';
import type { SessionDeps } from '../src/payments/sessions.ts';
import { findSettlement } from '../src/payments/settle-outside.ts';
import { closeOpenSession } from '../src/payments/sessions.ts';
import type { FirstAttempts } from '../src/webhooks/first-attempts.ts';
import { withFirstAttempt } from './record.ts';

/** The dependencies of the money activities. */
export interface MoneyDeps extends ReconcileDeps, SessionDeps {
  recordStep(input: RecordStepInput): Promise<RecordStepResult>;
  /** The time of the recorded steps, in Unix milliseconds; tests skip time. */
  now?: () => number | Promise<number>;
}

/** The retry interval of a release that waits for an operator or the gateway. */
const RETRY_WAITING = '30 minutes';

/** The retry interval after a permanent refusal: an operator may have removed the cause. */
const RETRY_REFUSED = '1 hour';

/** The heartbeat interval of a reconciliation run. */
const HEARTBEAT_MS = 10_000;

/**
 * Moves orders' money and records the result. Each call is idempotent: the gateway deduplicates it
 * by its idempotency key, and a step is recorded once under its number.
 */
export function createMoneyActivities(
  deps: MoneyDeps,
  firstAttempts: FirstAttempts,
): MoneyActivities & PaymentSessionActivities & SurplusActivities & ReconcileActivities {
  /** @param settled how an operator has settled the order; null if the gateway moved its money */
  async function recordMoved(
    input: MoveFundsInput,
    done: 'released' | 'refunded',
    settled: Settlement | null,
    before: RecordedStep[] = [],
  ) {
    const type = settled === null ? done : SETTLE_COMMANDS[settled];
    const result = await recordCommand(deps, input, { type });
    if (result.outcome === 'row_behind') return { outcome: 'diverged' } as const;
    if (result.outcome !== 'recorded') throw new Error(`${type} is recorded without conditions`);
    if (!result.isSame) return { outcome: 'diverged' } as const;
    const moved = await withFirstAttempt(firstAttempts, result.recorded);
    return { outcome: 'recorded' as const, recorded: [...before, moved] };
  }

  return {
    async releaseFunds({ orderNumber, state }) {
      const hasBegun = state.pendingOperation?.kind === 'releasing';
      // An operator may have settled the order while its release was blocked.
      const earlier = hasBegun ? null : await findSettlement(deps.sql, orderNumber);
      if (earlier !== null) return recordMoved({ orderNumber, state }, 'released', earlier);
      const isChecked = !hasBegun && (await funds.checkForRefunds(deps, orderNumber));
      const begun = await beginRelease(deps, { orderNumber, state });
      if (begun.outcome !== 'begun') return begun;
      const settled = await alertingOnRefusal(deps, orderNumber, () =>
        funds.releaseFunds(deps, orderNumber, isChecked),
      );
      return recordMoved({ orderNumber, state: begun.state }, 'released', settled, begun.recorded);
    },
    async refundPayment({ orderNumber, state }) {
      const { pendingOperation } = state;
      if (pendingOperation?.kind !== 'refunding')
        throw new Error(`Order ${orderNumber} is not refunding`);
      const settled = await alertingOnRefusal(deps, orderNumber, () =>
        funds.refundOrder(deps, orderNumber, pendingOperation.reason),
      );
      return recordMoved({ orderNumber, state }, 'refunded', settled);
    },
    refundSurplus: (payment) =>
      alertingOnRefusal(deps, paymentSubject(payment), () => funds.refundSurplus(deps, payment)),
    async closePaymentSession({ orderNumber }) {
      return closeOpenSession(deps, await findOrderByNumber(deps.sql, orderNumber));
    },
    async reconcilePayments(shard) {
      const heartbeats = setInterval(heartbeat, HEARTBEAT_MS);
      try {
        return await reconcilePayments(deps, shard);
      } finally {
        clearInterval(heartbeats);
      }
    },
  };
}

/** Records RELEASE_STARTED; a dispute that arrives after this statement is too late. */
async function beginRelease(deps: MoneyDeps, { orderNumber, state }: MoveFundsInput) {
  if (state.pendingOperation?.kind === 'releasing')
    return { outcome: 'begun' as const, state, recorded: [] };
  const result = await recordCommand(deps, { orderNumber, state }, { type: 'expire' });
  switch (result.outcome) {
    case 'recorded': {
      if (!result.isSame) return { outcome: 'diverged' } as const;
      const { recorded } = result;
      const begun = stateAfter(state, recorded.step);
      return { outcome: 'begun' as const, state: begun, recorded: [recorded] };
    }
    case 'disputed':
      return result;
    case 'row_behind':
      return { outcome: 'diverged' } as const;
    case 'too_early':
      throw ApplicationFailure.create({
        message: 'The window is still open',
        nextRetryDelay: result.retryAfterMs,
      });
    case 'release_waits':
      if (result.cause === 'merchant_not_active') {
        throw waitingRelease('The merchant is not active');
      }
      await alertBlocked(deps, orderNumber);
      throw waitingRelease('Some of the payment was refunded or charged back at the gateway');
    default:
      throw new Error(`A release cannot be refused as ${result.outcome}`);
  }
}

function alertBlocked(deps: MoneyDeps, orderNumber: string, error?: Error): Promise<void> {
  return raiseAlert(deps, {
    kind: 'release_blocked',
    subject: orderNumber,
    message: 'Funds are not released: part of the payment was or may be reversed at the gateway',
    fields: { orderNumber },
    error,
  });
}

const waitingRelease = (message: string) =>
  ApplicationFailure.create({ message, type: 'RELEASE_WAITS', nextRetryDelay: RETRY_WAITING });

/** Decides a command in the workflow's state and records its step. */
async function recordCommand(
  { recordStep, now = Date.now }: MoneyDeps,
  { orderNumber, state }: MoveFundsInput,
  command: Command,
) {
  // The deadline has passed on the workflow's clock; this process's clock may be behind.
  const earliestMs = command.type === 'expire' ? (state.deadline?.atMs ?? 0) : 0;
  const decision = decide(state, command, Math.max(await now(), earliestMs));
  if (decision.outcome === 'refused') throw decision.error;
  const { step, requires } = decision;
  const result = await recordStep({ orderNumber, step, ...(requires && { requires }) });
  if (result.outcome !== 'recorded') return result;
  return { ...result, isSame: result.recorded.step.kind === step.kind };
}

/** Raises an alert when the gateway refuses permanently; Temporal then retries hourly. */
async function alertingOnRefusal<Result>(
  deps: MoneyDeps,
  subject: string,
  move: () => Promise<Result>,
): Promise<Result> {
  try {
    const result = await move();
    // An earlier attempt may have raised it, or the hold of an order that is refunded now.
    await clearAlert(deps.sql, 'gateway_refused', subject, 'gateway');
    return result;
  } catch (error) {
    if (error instanceof funds.ReleaseBlocked) {
      await alertBlocked(deps, subject, error);
      throw waitingRelease(error.message);
    }
    if (!(error instanceof GatewayRefused)) throw error;
    await raiseAlert(deps, {
      kind: 'gateway_refused',
      subject,
      message: 'The gateway refuses permanently',
      error,
    });
    throw ApplicationFailure.create({
      message: error.message,
      type: 'GATEWAY_REFUSED',
      nextRetryDelay: RETRY_REFUSED,
      cause: error,
    });
  }
}
