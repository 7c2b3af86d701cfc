import type { Router } from '@koa/router';
import type { Middleware } from 'koa';
import { z } from 'zod';
import { accountChange, changeAccount } from '../operations/accounts.ts';
import { addToBalance, totals } from '../operations/balance.ts';
import { ageEntities } from './clock.ts';
import { openDispute, updateDisputeStatus } from '../operations/disputes.ts';
import { type Faults, faultSpec } from '../faults.ts';
import { callbackSettings } from '../callbacks/callbacks.ts';
import type { SimulatedGateway } from '../gateway.ts';
import { addRoutes, createRouter, type Routes } from '../middleware.ts';
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
}

const transferEnd = z.strictObject({
  status: z.enum(['processed', 'failed']),
  reason: z.enum(FAILURE_REASONS).default('insufficient_balance'),
});

const refundEnd = z.strictObject({ status: z.enum(['processed', 'failed']) });
const release = z.strictObject({ order: z.enum(['as_created', 'reversed']).default('as_created') });
const atLeastOne = z.number().int().min(1);

const anAmount = z.strictObject({ amountPaise: z.number().int().min(1).optional() });
const disputeStatus = z.strictObject({
  status: z.enum(['under_review', 'won', 'lost', 'closed']),
});

const buyerControls = ({ gateway }: ControlDeps): Routes => ({
  'POST /qr_codes/:id/pay': ({ id, body }) =>
    shownPayment(gateway, payQrCode(gateway, id, paymentAttempt.parse(body))),
  'POST /qr_codes/:id/fail': ({ id, body }) =>
    shownPayment(gateway, failQrCode(gateway, id, paymentAttempt.parse(body))),
  'POST /qr_codes/:id/expire': ({ id }) => shownQrCode(gateway, expireQrCode(gateway, id)),
  'POST /payments/:id/capture': ({ id }) => shownPayment(gateway, capturePayment(gateway, id)),
  'POST /payments/:id/void': ({ id }) => shownPayment(gateway, voidPayment(gateway, id)),
});

const faultControls = ({ faults }: ControlDeps): Routes => ({
  'GET /faults': () => ({ faults: faults.list() }),
  'POST /faults': ({ body }) => faults.add(faultSpec.parse(body)),
  'DELETE /faults': () => {
    faults.clear();
    return { faults: [] };
  },
  'DELETE /faults/:id': ({ id }) => {
    faults.remove(id);
    return { faults: faults.list() };
  },
});

const callbackControls = ({ gateway: { callbacks, store }, random }: ControlDeps): Routes => ({
  'GET /callbacks': () => {
    const isDisabled = callbacks.isDisabled();
    return { settings: callbacks.settings, isDisabled, events: store.all('events') };
  },
  'PATCH /callbacks': ({ body }) => {
    callbacks.update(callbackSettings.parse(body));
    return { settings: callbacks.settings };
  },
  'POST /callbacks/release': ({ body }) => ({
    released: callbacks.release(release.parse(body).order),
  }),
  'POST /callbacks/enable': () => callbacks.enable(),
  'POST /callbacks/idle': () => callbacks.idle(),
  'POST /callbacks/:id/resend': ({ id }) => callbacks.resend(id),
  'POST /seed': ({ body }) => {
    const { seed } = z.strictObject({ seed: z.number().int().min(0) }).parse(body);
    random.seed(seed);
    return { seed };
  },
});

const moneyControls = ({ gateway }: ControlDeps): Routes => ({
  'GET /switches': () => ({ switches: switchesBySubject(gateway), defaults: SWITCH_DEFAULTS }),
  'PATCH /switches/:id': ({ id, body }) => setSwitches(gateway, id, body),
  'POST /refunds/:id/end': ({ id, body }) => endRefund(gateway, id, refundEnd.parse(body).status),
  'POST /transfers/:id/end': ({ id, body }) => {
    const { status, reason } = transferEnd.parse(body);
    return shownTransfer(gateway, endTransfer(gateway, id, status, reason));
  },
  'PATCH /accounts/:id': ({ id, body }) => changeAccount(gateway, id, accountChange.parse(body)),
  'POST /balance': ({ body }) => {
    addToBalance(gateway, z.strictObject({ amountPaise: atLeastOne }).parse(body).amountPaise);
    return totals(gateway);
  },
  'POST /clock': ({ body }) =>
    ageEntities(gateway, z.strictObject({ advanceSeconds: atLeastOne }).parse(body).advanceSeconds),
  'GET /totals': () => totals(gateway),
  'GET /pending': () => pendingIds(gateway),
});

/** What the gateway's dashboard and the buyer's bank do without its API. */
const dashboardControls = ({ gateway }: ControlDeps): Routes => ({
  'POST /payments/:id/refund': ({ id, body }) => {
    // It reverses the transfers to linked accounts, as the dashboard offers.
    const input = { amount: anAmount.parse(body).amountPaise, reverse_all: true };
    return refundPayment(gateway, id, input, undefined);
  },
  'POST /payments/:id/disputes': ({ id, body }) =>
    openDispute(gateway, id, anAmount.parse(body).amountPaise),
  'POST /disputes/:id/status': ({ id, body }) =>
    updateDisputeStatus(gateway, id, disputeStatus.parse(body).status),
});

/** The control API: buyers' actions, faults, callbacks, switches and reversals, for tests and developers. */
export function createControlRouter(deps: ControlDeps, guards: readonly Middleware[]): Router {
  const router = createRouter(guards);
  const routes = {
    ...buyerControls(deps),
    ...faultControls(deps),
    ...callbackControls(deps),
    ...moneyControls(deps),
    ...dashboardControls(deps),
  };
  addRoutes(router, routes, '/simulator');
  return router;
}
