import type { Router } from '@koa/router';
import type { Middleware } from 'koa';
import { z } from 'zod';
import { betaAccount, createAccount, newAccount } from '../operations/accounts.ts';
import { type Transfer, notes } from '../state/entities.ts';
import type { SimulatedGateway } from '../gateway.ts';
import { WHOLE_LIST, listOf, page, refuseUnknownQuery } from './lists.ts';
import { createRouter } from '../middleware.ts';
import { paymentsOf, qrCodesOfPayment } from '../operations/payments.ts';
import { closeQrCode, createQrCode, currentQrCode, newQrCode } from '../operations/qr-codes.ts';
import { newRefund, refundPayment, refundsOf } from '../operations/refunds.ts';
import { shownPayment, shownQrCode, shownSettledTransfer, shownTransfer } from './shown.ts';
import { type Row, requireRow } from '../state/store.ts';
import { subjectsOfPayment, subjectsOfTransfer } from '../switches.ts';
import {
  createTransfers,
  currentTransfer,
  holdTransfer,
  newTransfer,
  takeBackTransfer,
  transfersOf,
} from '../operations/transfers.ts';

const paise = z.number().int().min(1);
const newTransfers = z.strictObject({ transfers: z.array(newTransfer).min(1) });
const newReversal = z.strictObject({ amount: paise.optional(), notes: notes.optional() });
const hold = z.strictObject({ on_hold: z.boolean(), on_hold_until: z.number().int().optional() });
const qrCodePage = page.extend({ payment_id: z.string().optional() });
const transferPage = page.extend({
  recipient_settlement_id: z.string().optional(),
  'expand[]': z.literal('recipient_settlement').optional(),
});

type Params = Record<string, string>;
const param = (params: Params, name: string) => params[name] ?? '';

function addQrCodeRoutes(router: Router, gateway: SimulatedGateway): void {
  const showQrCode = ({ entity }: Row<'qrCodes'>) => shownQrCode(gateway, entity);
  router.post('/v1/payments/qr_codes', (ctx) => {
    const qrCode = createQrCode(gateway, newQrCode.parse(ctx.request.body));
    ctx.body = shownQrCode(gateway, qrCode);
  });
  router.get('/v1/payments/qr_codes', (ctx) => {
    const { payment_id: paymentId, ...slice } = qrCodePage.parse(ctx.query);
    const all = () =>
      gateway.store
        .all('qrCodes')
        .filter(({ entity }) => entity.created_at >= slice.from)
        .map(({ entity }) => currentQrCode(gateway, entity.id));
    const found = paymentId === undefined ? all() : qrCodesOfPayment(gateway, paymentId);
    const subjects = ({ entity }: Row<'qrCodes'>) => [entity.id];
    ctx.body = listOf(gateway, found, { subjects, show: showQrCode, page: slice });
  });
  router.get('/v1/payments/qr_codes/:id', (ctx) => {
    ctx.body = showQrCode(currentQrCode(gateway, param(ctx.params, 'id')));
  });
  router.post('/v1/payments/qr_codes/:id/close', (ctx) => {
    ctx.body = shownQrCode(gateway, closeQrCode(gateway, param(ctx.params, 'id')));
  });
  router.get('/v1/payments/qr_codes/:id/payments', (ctx) => {
    ctx.body = listOf(gateway, paymentsOf(gateway, param(ctx.params, 'id')), {
      subjects: (row) => subjectsOfPayment(gateway, row),
      show: (row) => shownPayment(gateway, row),
      page: page.parse(ctx.query),
    });
  });
}

function addPaymentRoutes(router: Router, gateway: SimulatedGateway): void {
  /** The subjects of what belongs to a payment. */
  const subjects = ({ entity }: Row<'refunds' | 'disputes'>) =>
    subjectsOfPayment(gateway, requireRow(gateway, 'payments', entity.payment_id));
  const show = ({ entity }: Row<'refunds' | 'disputes'>) => entity;
  router.get('/v1/payments/:id', (ctx) => {
    ctx.body = shownPayment(gateway, requireRow(gateway, 'payments', param(ctx.params, 'id')));
  });
  router.post('/v1/payments/:id/refund', (ctx) => {
    const key = ctx.get('x-refund-idempotency') || undefined;
    const input = newRefund.parse(ctx.request.body ?? {});
    ctx.body = refundPayment(gateway, param(ctx.params, 'id'), input, key);
  });
  router.get('/v1/payments/:id/refunds', (ctx) => {
    const refunds = refundsOf(gateway, param(ctx.params, 'id'));
    ctx.body = listOf(gateway, refunds, { subjects, show, page: page.parse(ctx.query) });
  });
  router.get('/v1/disputes', (ctx) => {
    const disputes = gateway.store.all('disputes');
    ctx.body = listOf(gateway, disputes, { subjects, show, page: page.parse(ctx.query) });
  });
  router.get('/v1/disputes/:id', (ctx) => {
    ctx.body = requireRow(gateway, 'disputes', param(ctx.params, 'id')).entity;
  });
  router.get('/v1/refunds/:id', (ctx) => {
    ctx.body = requireRow(gateway, 'refunds', param(ctx.params, 'id')).entity;
  });
}

function addRouteRoutes(router: Router, gateway: SimulatedGateway): void {
  const show = (transfer: Transfer) => shownTransfer(gateway, transfer);
  router.post('/v1/payments/:id/transfers', (ctx) => {
    const { transfers } = newTransfers.parse(ctx.request.body);
    const made = createTransfers(gateway, param(ctx.params, 'id'), transfers);
    ctx.body = { entity: 'collection', count: made.length, items: made.map(show) };
  });
  router.get('/v1/payments/:id/transfers', (ctx) => {
    const transfers = transfersOf(gateway, param(ctx.params, 'id'));
    ctx.body = listOf(
      gateway,
      transfers.map((entity) => ({ entity })),
      {
        subjects: ({ entity }) => subjectsOfTransfer(gateway, entity),
        show: ({ entity }) => show(entity),
        page: WHOLE_LIST,
      },
    );
  });
  router.get('/v1/transfers', (ctx) => {
    const {
      recipient_settlement_id: settlementId,
      'expand[]': expanded,
      ...slice
    } = transferPage.parse(ctx.query);
    const all = gateway.store
      .all('transfers')
      .map(({ entity: { id } }) => ({ entity: currentTransfer(gateway, id) }));
    const ofSettlement = all.filter(
      ({ entity }) => settlementId === undefined || entity.recipient_settlement_id === settlementId,
    );
    ctx.body = listOf(gateway, ofSettlement, {
      subjects: ({ entity }) => subjectsOfTransfer(gateway, entity),
      show: ({ entity }) => (expanded ? shownSettledTransfer(gateway, entity) : show(entity)),
      page: slice,
    });
  });
  router.get('/v1/transfers/:id', (ctx) => {
    ctx.body = show(currentTransfer(gateway, param(ctx.params, 'id')));
  });
  router.post('/v1/transfers/:id/reversals', (ctx) => {
    const { amount } = newReversal.parse(ctx.request.body ?? {});
    ctx.body = takeBackTransfer(gateway, param(ctx.params, 'id'), amount);
  });
  router.patch('/v1/transfers/:id', (ctx) => {
    const { on_hold: onHold } = hold.parse(ctx.request.body);
    ctx.body = show(holdTransfer(gateway, param(ctx.params, 'id'), onHold));
  });
  router.post('/v2/accounts', (ctx) => {
    ctx.body = createAccount(gateway, newAccount.parse(ctx.request.body));
  });
  router.get('/v2/accounts/:id', (ctx) => {
    ctx.body = requireRow(gateway, 'accounts', param(ctx.params, 'id')).entity;
  });
  router.get('/v1/beta/accounts/:id', (ctx) => {
    ctx.body = betaAccount(gateway, param(ctx.params, 'id'));
  });
}

/**
 * The simulated part of Razorpay's API, with the same paths and shapes.
 *
 * @param guards middleware of every route
 */
export function createApiRouter(gateway: SimulatedGateway, guards: readonly Middleware[]): Router {
  const router = createRouter([...guards, refuseUnknownQuery(gateway)]);
  addQrCodeRoutes(router, gateway);
  addPaymentRoutes(router, gateway);
  addRouteRoutes(router, gateway);
  return router;
}
