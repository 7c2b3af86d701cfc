import type { Router } from '@koa/router';
import type { Middleware } from 'koa';
import { z } from 'zod';
import { collection } from './entities.ts';
import { type SimulatedGateway, requireRow } from './gateway.ts';
import { createRouter } from './middleware.ts';
import { paymentsOf, qrCodesOfPayment } from './payments.ts';
import { closeQrCode, createQrCode, currentQrCode } from './qr-codes.ts';
import { refundPayment, refundsOf } from './refunds.ts';
import { createAccount, createTransfers, holdTransfer, transfersOf } from './transfers.ts';

/** "Maximum 15 key-value pairs, 256 characters (maximum) each." */
const notes = z
  .record(z.string().max(256), z.string().max(256))
  .refine((pairs) => Object.keys(pairs).length <= 15);
const paise = z.number().int().min(1);

const newQrCode = z.strictObject({
  type: z.literal('upi_qr'),
  usage: z.literal('single_use'),
  fixed_amount: z.literal(true),
  payment_amount: paise,
  name: z.string().optional(),
  description: z.string().optional(),
  close_by: z.number().int().min(946_684_800).max(4_765_046_400).optional(),
  notes: notes.optional(),
});
const newRefund = z.strictObject({
  amount: paise.optional(),
  speed: z.literal('normal').optional(),
  notes: notes.optional(),
  receipt: z.string().optional(),
  reverse_all: z.boolean().optional(),
});
const newTransfer = z.strictObject({
  account: z.string(),
  amount: z.number().int().min(100),
  currency: z.literal('INR'),
  notes: notes.optional(),
  linked_account_notes: z.array(z.string()).optional(),
  on_hold: z.boolean().optional(),
  on_hold_until: z.number().int().optional(),
});
const newTransfers = z.strictObject({ transfers: z.array(newTransfer).min(1) });
const hold = z.strictObject({ on_hold: z.boolean(), on_hold_until: z.number().int().optional() });
const newAccount = z.strictObject({
  type: z.literal('route'),
  email: z.email(),
  phone: z.string().min(8).max(15),
  legal_business_name: z.string().min(4).max(200),
  business_type: z.string().min(1),
  contact_name: z.string().min(4).max(255),
  profile: z.looseObject({ category: z.string(), subcategory: z.string() }),
});
const page = z.object({
  count: z.coerce.number().int().min(1).max(100).default(10),
  skip: z.coerce.number().int().min(0).default(0),
  payment_id: z.string().optional(),
  /** Unix seconds. */
  from: z.coerce.number().int().min(0).default(0),
});

type Params = Record<string, string>;
const param = (params: Params, name: string) => params[name] ?? '';

function addQrCodeRoutes(router: Router, gateway: SimulatedGateway): void {
  router.post('/v1/payments/qr_codes', (ctx) => {
    ctx.body = createQrCode(gateway, newQrCode.parse(ctx.request.body));
  });
  router.get('/v1/payments/qr_codes', (ctx) => {
    const { payment_id: paymentId, from, ...slice } = page.parse(ctx.query);
    const all = () =>
      gateway.store
        .all('qrCodes')
        .filter(({ entity }) => entity.created_at >= from)
        .map(({ entity }) => currentQrCode(gateway, entity.id).entity);
    const found = paymentId === undefined ? all() : qrCodesOfPayment(gateway, paymentId);
    ctx.body = collection(found, slice);
  });
  router.get('/v1/payments/qr_codes/:id', (ctx) => {
    ctx.body = currentQrCode(gateway, param(ctx.params, 'id')).entity;
  });
  router.post('/v1/payments/qr_codes/:id/close', (ctx) => {
    ctx.body = closeQrCode(gateway, param(ctx.params, 'id'));
  });
  router.get('/v1/payments/qr_codes/:id/payments', (ctx) => {
    ctx.body = collection(paymentsOf(gateway, param(ctx.params, 'id')), page.parse(ctx.query));
  });
}

function addPaymentRoutes(router: Router, gateway: SimulatedGateway): void {
  router.get('/v1/payments/:id', (ctx) => {
    ctx.body = requireRow(gateway, 'payments', param(ctx.params, 'id')).entity;
  });
  router.post('/v1/payments/:id/refund', (ctx) => {
    const key = ctx.get('x-refund-idempotency') || undefined;
    const input = newRefund.parse(ctx.request.body ?? {});
    ctx.body = refundPayment(gateway, param(ctx.params, 'id'), input, key);
  });
  router.get('/v1/payments/:id/refunds', (ctx) => {
    ctx.body = collection(refundsOf(gateway, param(ctx.params, 'id')), page.parse(ctx.query));
  });
  router.get('/v1/disputes', (ctx) => {
    const disputes = gateway.store.all('disputes').map(({ entity }) => entity);
    ctx.body = collection(disputes, page.parse(ctx.query));
  });
  router.get('/v1/disputes/:id', (ctx) => {
    ctx.body = requireRow(gateway, 'disputes', param(ctx.params, 'id')).entity;
  });
  router.get('/v1/refunds/:id', (ctx) => {
    ctx.body = requireRow(gateway, 'refunds', param(ctx.params, 'id')).entity;
  });
}

function addRouteRoutes(router: Router, gateway: SimulatedGateway): void {
  router.post('/v1/payments/:id/transfers', (ctx) => {
    const { transfers } = newTransfers.parse(ctx.request.body);
    const made = createTransfers(gateway, param(ctx.params, 'id'), transfers);
    ctx.body = { entity: 'collection', count: made.length, items: made };
  });
  router.get('/v1/payments/:id/transfers', (ctx) => {
    ctx.body = collection(transfersOf(gateway, param(ctx.params, 'id')), page.parse(ctx.query));
  });
  router.get('/v1/transfers/:id', (ctx) => {
    ctx.body = requireRow(gateway, 'transfers', param(ctx.params, 'id')).entity;
  });
  router.patch('/v1/transfers/:id', (ctx) => {
    const { on_hold: onHold } = hold.parse(ctx.request.body);
    ctx.body = holdTransfer(gateway, param(ctx.params, 'id'), onHold);
  });
  router.post('/v2/accounts', (ctx) => {
    const { type, ...input } = newAccount.parse(ctx.request.body);
    ctx.body = { ...createAccount(gateway, input), type };
  });
  router.get('/v2/accounts/:id', (ctx) => {
    ctx.body = requireRow(gateway, 'accounts', param(ctx.params, 'id')).entity;
  });
}

/**
 * The simulated part of Razorpay's API, with the same paths and shapes.
 *
 * @param guards middleware of every route
 */
export function createApiRouter(gateway: SimulatedGateway, guards: readonly Middleware[]): Router {
  const router = createRouter(guards);
  addQrCodeRoutes(router, gateway);
  addPaymentRoutes(router, gateway);
  addRouteRoutes(router, gateway);
  return router;
}
