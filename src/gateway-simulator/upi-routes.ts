import { Router } from '@koa/router';
import type { Middleware } from 'koa';
import { z } from 'zod';
import { failQrCode, payQrCode, paymentsOf } from './payments.ts';
import { currentQrCode, expireQrCode } from './qr-codes.ts';
import { UPI_STYLE, upiPage } from './upi-page.ts';
import type { World } from './world.ts';

/** No script, no frame, nothing from elsewhere: the texts on the page are the merchant's. */
const POLICY =
  "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const secureHeaders: Middleware = async (ctx, next) => {
  ctx.set('content-security-policy', POLICY);
  ctx.set('x-content-type-options', 'nosniff');
  ctx.set('referrer-policy', 'no-referrer');
  ctx.set('cache-control', 'no-store');
  await next();
};

const form = z.object({
  action: z.enum(['pay', 'fail', 'expire']),
  vpa: z
    .string()
    .trim()
    .max(256)
    .optional()
    .transform((text) => (text === '' ? undefined : text)),
});

const ACTIONS = { pay: payQrCode, fail: failQrCode, expire: expireQrCode };

/** The page that plays the buyer's UPI app. Whoever knows the QR code's id may pay it. */
export function createUpiRouter(world: World): Router {
  const router = new Router({ sensitive: true, strict: true });
  router.use(secureHeaders);

  router.get('/upi/style.css', (ctx) => {
    ctx.type = 'text/css';
    ctx.body = UPI_STYLE;
  });

  router.get('/upi/:id', (ctx) => {
    const id = ctx.params['id'] ?? '';
    ctx.type = 'text/html';
    ctx.body = upiPage(currentQrCode(world, id).entity, paymentsOf(world, id));
  });

  router.post('/upi/:id', (ctx) => {
    const id = ctx.params['id'] ?? '';
    const { action, vpa } = form.parse(ctx.request.body);
    // Closed meanwhile: the page shows how, which says more than an error would.
    if (currentQrCode(world, id).entity.status === 'active') ACTIONS[action](world, id, { vpa });
    ctx.status = 303;
    ctx.redirect(`/upi/${encodeURIComponent(id)}`);
  });
  return router;
}
