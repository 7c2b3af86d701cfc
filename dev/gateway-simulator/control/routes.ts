import type { Router } from '@koa/router';
import type { Middleware } from 'koa';
import { z } from 'zod';
import { accountChange, changeAccount } from '../operations/accounts.ts';
import { addToBalance, totals } from '../operations/balance.ts';
import { ageEntities } from './clock.ts';
import { openDispute, updateDisputeStatus } from '../operations/disputes.ts';
import { type Faults, addRefusal, durationMs, faultSpec, liftRefusal } from '../faults.ts';
import { callbackSettings } from '../callbacks/callbacks.ts';
import type { SimulatedGateway } from '../gateway.ts';
import { createRouter } from '../middleware.ts';
import {
  capturePayment,
  failQrCode,
  paymentAttempt,
  payQrCode,
  voidPayment,
} from '../operations/payments.ts';
import { pendingIds } from './pending.ts';
import { expireQrCode } from '../operations/qr-codes.ts';
import type { Random } from '../random.ts';
import { endRefund, refundPayment } from '../operations/refunds.ts';
import { shownPayment, shownQrCode, shownTransfer } from '../api/shown.ts';
import { SWITCH_DEFAULTS, setSwitches, switchesBySubject } from '../switches.ts';
import { FAILURE_REASONS } from '../operations/transfer-errors.ts';
import { endTransfer } from '../operations/transfers.ts';

/** What the control routes change. */
export interface ControlDeps {
  gateway: SimulatedGateway;
  faults: Faults;
  random: Random;
  /** Refuses connections for this duration. */
  refuseConnectionsFor: (durationMs: number) => void;
}

const refusal = z.strictObject({
  cause: z.enum(['account_closed', 'refund_window_over']),
  subjectId: z.string().nullable().default(null),
});
const transferEnd = z.strictObject({
  status: z.enum(['processed', 'failed']),
  reason: z.enum(FAILURE_REASONS).default('insufficient_balance'),
});

const dashboardRefund = z.strictObject({
  amountPaise: z.number().int().min(1).optional(),
  /** Reverses the transfers to linked accounts, as the dashboard offers. */
  reverseTransfers: z.boolean().default(true),
});
const newDispute = z.strictObject({ amountPaise: z.number().int().min(1).optional() });
const disputeStatus = z.strictObject({
  status: z.enum(['under_review', 'won', 'lost', 'closed']),
});

const idOf = (params: Record<string, string>) => params['id'] ?? '';

function addBuyerControls(router: Router, { gateway }: ControlDeps): void {
  router.post('/simulator/qr_codes/:id/pay', (ctx) => {
    const row = payQrCode(gateway, idOf(ctx.params), paymentAttempt.parse(ctx.request.body ?? {}));
    ctx.body = shownPayment(gateway, row);
  });
  router.post('/simulator/qr_codes/:id/fail', (ctx) => {
    const row = failQrCode(gateway, idOf(ctx.params), paymentAttempt.parse(ctx.request.body ?? {}));
    ctx.body = shownPayment(gateway, row);
  });
  router.post('/simulator/qr_codes/:id/expire', (ctx) => {
    ctx.body = shownQrCode(gateway, expireQrCode(gateway, idOf(ctx.params)));
  });
  router.post('/simulator/payments/:id/capture', (ctx) => {
    ctx.body = shownPayment(gateway, capturePayment(gateway, idOf(ctx.params)));
  });
  router.post('/simulator/payments/:id/void', (ctx) => {
    ctx.body = shownPayment(gateway, voidPayment(gateway, idOf(ctx.params)));
  });
}

function addFaultControls(router: Router, { faults, refuseConnectionsFor }: ControlDeps): void {
  router.get('/simulator/faults', (ctx) => {
    ctx.body = { faults: faults.list() };
  });
  router.post('/simulator/faults', (ctx) => {
    ctx.body = faults.add(faultSpec.parse(ctx.request.body));
  });
  router.delete('/simulator/faults', (ctx) => {
    faults.clear();
    ctx.body = { faults: [] };
  });
  router.delete('/simulator/faults/:id', (ctx) => {
    faults.remove(idOf(ctx.params));
    ctx.body = { faults: faults.list() };
  });
  router.post('/simulator/outage', (ctx) => {
    const { durationMs: forMs } = z.strictObject({ durationMs }).parse(ctx.request.body);
    ctx.body = { durationMs: forMs };
    // The outage begins after this response was sent.
    ctx.res.once('finish', () => refuseConnectionsFor(forMs));
  });
}

function addCallbackControls(router: Router, { gateway, random }: ControlDeps): void {
  const { callbacks, store } = gateway;
  router.get('/simulator/callbacks', (ctx) => {
    const isDisabled = callbacks.isDisabled();
    ctx.body = { settings: callbacks.settings, isDisabled, events: store.all('events') };
  });
  router.patch('/simulator/callbacks', (ctx) => {
    callbacks.update(callbackSettings.parse(ctx.request.body));
    ctx.body = { settings: callbacks.settings };
  });
  router.post('/simulator/callbacks/release', (ctx) => {
    const order = z.enum(['as_created', 'reversed', 'shuffled']).default('as_created');
    const body = z.strictObject({ order }).parse(ctx.request.body ?? {});
    ctx.body = { released: callbacks.release(body.order) };
  });
  router.post('/simulator/callbacks/enable', (ctx) => {
    callbacks.enable();
    ctx.body = {};
  });
  router.post('/simulator/callbacks/idle', async (ctx) => {
    await callbacks.idle();
    ctx.body = {};
  });
  router.post('/simulator/callbacks/:id/resend', (ctx) => {
    callbacks.resend(idOf(ctx.params));
    ctx.body = {};
  });
  router.post('/simulator/seed', (ctx) => {
    const { seed } = z.strictObject({ seed: z.number().int().min(0) }).parse(ctx.request.body);
    random.seed(seed);
    ctx.body = { seed };
  });
}

function addSwitchControls(router: Router, { gateway }: ControlDeps): void {
  router.get('/simulator/switches', (ctx) => {
    ctx.body = { switches: switchesBySubject(gateway), defaults: SWITCH_DEFAULTS };
  });
  router.patch('/simulator/switches/:id', (ctx) => {
    ctx.body = setSwitches(gateway, idOf(ctx.params), ctx.request.body);
  });
}

function addMoneyControls(router: Router, { gateway }: ControlDeps): void {
  router.post('/simulator/refusals', (ctx) => {
    const { cause, subjectId } = refusal.parse(ctx.request.body);
    ctx.body = addRefusal(gateway, cause, subjectId);
  });
  router.delete('/simulator/refusals/:id', (ctx) => {
    liftRefusal(gateway, idOf(ctx.params));
    ctx.body = {};
  });
  router.post('/simulator/refunds/:id/end', (ctx) => {
    const status = z.enum(['processed', 'failed']);
    const body = z.strictObject({ status }).parse(ctx.request.body);
    ctx.body = endRefund(gateway, idOf(ctx.params), body.status);
  });
  router.post('/simulator/transfers/:id/end', (ctx) => {
    const { status, reason } = transferEnd.parse(ctx.request.body);
    ctx.body = shownTransfer(gateway, endTransfer(gateway, idOf(ctx.params), status, reason));
  });
  router.patch('/simulator/accounts/:id', (ctx) => {
    ctx.body = changeAccount(gateway, idOf(ctx.params), accountChange.parse(ctx.request.body));
  });
  router.post('/simulator/balance', (ctx) => {
    const amountPaise = z.number().int().min(1);
    addToBalance(gateway, z.strictObject({ amountPaise }).parse(ctx.request.body).amountPaise);
    ctx.body = totals(gateway);
  });
  router.post('/simulator/clock', (ctx) => {
    const seconds = z.number().int().min(1);
    const body = z.strictObject({ advanceSeconds: seconds }).parse(ctx.request.body);
    ageEntities(gateway, body.advanceSeconds);
    ctx.body = {};
  });
  router.get('/simulator/totals', (ctx) => {
    ctx.body = totals(gateway);
  });
  router.get('/simulator/pending', (ctx) => {
    ctx.body = pendingIds(gateway);
  });
}

/** What the gateway's dashboard and the buyer's bank do without its API. */
function addDashboardControls(router: Router, { gateway }: ControlDeps): void {
  router.post('/simulator/payments/:id/refund', (ctx) => {
    const { amountPaise, reverseTransfers } = dashboardRefund.parse(ctx.request.body ?? {});
    const input = { amount: amountPaise, reverse_all: reverseTransfers };
    ctx.body = refundPayment(gateway, idOf(ctx.params), input, undefined);
  });
  router.post('/simulator/payments/:id/disputes', (ctx) => {
    const { amountPaise } = newDispute.parse(ctx.request.body ?? {});
    ctx.body = openDispute(gateway, idOf(ctx.params), amountPaise);
  });
  router.post('/simulator/disputes/:id/status', (ctx) => {
    const { status } = disputeStatus.parse(ctx.request.body);
    ctx.body = updateDisputeStatus(gateway, idOf(ctx.params), status);
  });
}

/** The control API: buyers' actions, faults, callbacks, switches and reversals, for tests and developers. */
export function createControlRouter(deps: ControlDeps, guards: readonly Middleware[]): Router {
  const router = createRouter(guards);
  addBuyerControls(router, deps);
  addFaultControls(router, deps);
  addCallbackControls(router, deps);
  addSwitchControls(router, deps);
  addMoneyControls(router, deps);
  addDashboardControls(router, deps);
  return router;
}
