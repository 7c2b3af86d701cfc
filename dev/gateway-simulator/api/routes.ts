import type { Router } from '@koa/router';
import type { Middleware } from 'koa';
import { z } from 'zod';
import { betaAccount, createAccount, newAccount } from '../operations/accounts.ts';
import { type Transfer, notes } from '../state/entities.ts';
import type { SimulatedGateway } from '../gateway.ts';
import { WHOLE_LIST, listOf, page, refuseUnknownQuery } from './lists.ts';
import { addRoutes, createRouter, type Routes } from '../middleware.ts';
import { paymentsOf, qrCodesOfPayment } from '../operations/payments.ts';
import { closeQrCode, createQrCode, currentQrCode, newQrCode } from '../operations/qr-codes.ts';
import { newRefund, refundPayment, refundsOf } from '../operations/refunds.ts';
import { shownPayment, shownQrCode, shownSettledTransfer, shownTransfer } from './shown.ts';
import { type Row, requireRow } from '../state/store.ts';
import { subjectsOfPayment, subjectsOfTransfer } from '../switches.ts';
import { takeBackTransfer } from '../operations/reversals.ts';
import {
  createTransfers,
  currentTransfer,
  holdTransfer,
  newTransfer,
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

const qrCodeRoutes = (gateway: SimulatedGateway): Routes => {
  const show = ({ entity }: Row<'qrCodes'>) => shownQrCode(gateway, entity);
  const subjects = ({ entity }: Row<'qrCodes'>) => [entity.id];
  return {
    'POST /v1/payments/qr_codes': ({ body }) =>
      shownQrCode(gateway, createQrCode(gateway, newQrCode.parse(body))),
    'GET /v1/payments/qr_codes': ({ query }) => {
      const { payment_id: paymentId, ...slice } = qrCodePage.parse(query);
      const all = () =>
        gateway.store
          .all('qrCodes')
          .filter(({ entity }) => entity.created_at >= slice.from)
          .map(({ entity }) => currentQrCode(gateway, entity.id));
      const found = paymentId === undefined ? all() : qrCodesOfPayment(gateway, paymentId);
      return listOf(gateway, found, { subjects, show, page: slice });
    },
    'GET /v1/payments/qr_codes/:id': ({ id }) => show(currentQrCode(gateway, id)),
    'POST /v1/payments/qr_codes/:id/close': ({ id }) =>
      shownQrCode(gateway, closeQrCode(gateway, id)),
    'GET /v1/payments/qr_codes/:id/payments': ({ id, query }) =>
      listOf(gateway, paymentsOf(gateway, id), {
        subjects: (row) => subjectsOfPayment(gateway, row),
        show: (row) => shownPayment(gateway, row),
        page: page.parse(query),
      }),
  };
};

const paymentRoutes = (gateway: SimulatedGateway): Routes => {
  /** The subjects of what belongs to a payment. */
  const subjects = ({ entity }: Row<'refunds' | 'disputes'>) =>
    subjectsOfPayment(gateway, requireRow(gateway, 'payments', entity.payment_id));
  const show = ({ entity }: Row<'refunds' | 'disputes'>) => entity;
  const pageOf = (rows: readonly Row<'refunds' | 'disputes'>[], query: unknown) =>
    listOf(gateway, rows, { subjects, show, page: page.parse(query) });
  return {
    'GET /v1/payments/:id': ({ id }) => shownPayment(gateway, requireRow(gateway, 'payments', id)),
    'POST /v1/payments/:id/refund': ({ id, body, header }) => {
      const key = header('x-refund-idempotency') || undefined;
      return refundPayment(gateway, id, newRefund.parse(body), key);
    },
    'GET /v1/payments/:id/refunds': ({ id, query }) => pageOf(refundsOf(gateway, id), query),
    'GET /v1/disputes': ({ query }) => pageOf(gateway.store.all('disputes'), query),
    'GET /v1/disputes/:id': ({ id }) => requireRow(gateway, 'disputes', id).entity,
    'GET /v1/refunds/:id': ({ id }) => requireRow(gateway, 'refunds', id).entity,
  };
};

const transferRoutes = (gateway: SimulatedGateway): Routes => {
  const show = (transfer: Transfer) => shownTransfer(gateway, transfer);
  const subjects = ({ entity }: Row<'transfers'>) => subjectsOfTransfer(gateway, entity);
  return {
    'POST /v1/payments/:id/transfers': ({ id, body }) => {
      const made = createTransfers(gateway, id, newTransfers.parse(body).transfers);
      return { entity: 'collection', count: made.length, items: made.map(show) };
    },
    'GET /v1/payments/:id/transfers': ({ id }) => {
      const rows = transfersOf(gateway, id).map((entity) => ({ entity }));
      return listOf(gateway, rows, {
        subjects,
        show: ({ entity }) => show(entity),
        page: WHOLE_LIST,
      });
    },
    'GET /v1/transfers': ({ query }) => {
      const {
        recipient_settlement_id: settlementId,
        'expand[]': expanded,
        ...slice
      } = transferPage.parse(query);
      const all = gateway.store
        .all('transfers')
        .map(({ entity: { id } }) => ({ entity: currentTransfer(gateway, id) }));
      const ofSettlement = all.filter(
        ({ entity }) =>
          settlementId === undefined || entity.recipient_settlement_id === settlementId,
      );
      return listOf(gateway, ofSettlement, {
        subjects,
        show: ({ entity }) => (expanded ? shownSettledTransfer(gateway, entity) : show(entity)),
        page: slice,
      });
    },
    'GET /v1/transfers/:id': ({ id }) => show(currentTransfer(gateway, id)),
    'POST /v1/transfers/:id/reversals': ({ id, body }) =>
      takeBackTransfer(gateway, id, newReversal.parse(body).amount),
    'PATCH /v1/transfers/:id': ({ id, body }) =>
      show(holdTransfer(gateway, id, hold.parse(body).on_hold)),
    'POST /v2/accounts': ({ body }) => createAccount(gateway, newAccount.parse(body)),
    'GET /v2/accounts/:id': ({ id }) => requireRow(gateway, 'accounts', id).entity,
    'GET /v1/beta/accounts/:id': ({ id }) => betaAccount(gateway, id),
  };
};

/**
 * The simulated part of Razorpay's API, with the same paths and shapes.
 *
 * @param guards middleware of every route
 */
export function createApiRouter(gateway: SimulatedGateway, guards: readonly Middleware[]): Router {
  const router = createRouter([...guards, refuseUnknownQuery(gateway)]);
  for (const routes of [qrCodeRoutes, paymentRoutes, transferRoutes]) {
    addRoutes(router, routes(gateway));
  }
  return router;
}
