import type { Router } from '@koa/router';
import type { Middleware } from 'koa';
import { z } from 'zod';
import type { QrCode } from './state/entities.ts';
import type { SimulatedGateway } from './gateway.ts';
import { createRouter } from './middleware.ts';
import {
  FAILURE_VPA,
  SUCCESS_VPA,
  failQrCode,
  payQrCode,
  paymentsOf,
} from './operations/payments.ts';
import { currentQrCode, expireQrCode } from './operations/qr-codes.ts';
import type { Row } from './state/store.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for element content and quoted attributes. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

const UPI_STYLE = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 28rem; padding: 1rem; }
.amount { font-size: 2.25rem; font-weight: 700; margin: 0; }
label, input, button { display: block; width: 100%; box-sizing: border-box; font: inherit; }
input, button { padding: .75rem; margin: .5rem 0; border-radius: .5rem; border: 1px solid #767676; }
button { cursor: pointer; }
.pay { background: #0b6b3a; color: #fff; border-color: #0b6b3a; }
.state { padding: .75rem; border: 1px solid; border-radius: .5rem; }
small { display: block; }
`;

function stateText({ status, close_reason }: QrCode): string {
  if (status === 'active') return 'Waiting for payment';
  if (close_reason === 'paid') return 'Paid';
  return close_reason === 'on_demand' ? 'Closed by the merchant' : 'Expired';
}

const rupees = (amountPaise: number) => `₹${(amountPaise / 100).toFixed(2)}`;

function attemptItem({ entity: { status, vpa, amount } }: Row<'payments'>): string {
  const outcome = status === 'failed' ? 'failed' : 'paid';
  return `<li>${rupees(amount)} from ${escapeHtml(vpa)}: ${outcome}</li>`;
}

function payForm(): string {
  return `<form method="post">
<label for="vpa">Your UPI address</label>
<input id="vpa" name="vpa" value="${SUCCESS_VPA}" maxlength="256" autocomplete="off">
<small>Paying from ${SUCCESS_VPA} succeeds, from ${FAILURE_VPA} it fails.</small>
<button class="pay" name="action" value="pay">Pay</button>
<button name="action" value="fail">Let the payment fail</button>
<button name="action" value="expire">Let the QR code expire</button>
</form>`;
}

/** The page of the UPI app after scanning this QR code, without scripts. */
function upiPage(qrCode: QrCode, payments: readonly Row<'payments'>[]): string {
  const attempts = payments.map(attemptItem).join('\n');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Simulated UPI app</title>
<link rel="stylesheet" href="/upi/style.css">
</head>
<body>
<main>
<h1>Simulated UPI app</h1>
<p>No real money moves here.</p>
<p class="amount">${rupees(qrCode.payment_amount)}</p>
<p>${escapeHtml(qrCode.description)}</p>
<p class="state" role="status">${stateText(qrCode)}</p>
${qrCode.status === 'active' ? payForm() : ''}
${attempts === '' ? '' : `<h2>Attempts</h2>\n<ul>\n${attempts}\n</ul>`}
</main>
</body>
</html>
`;
}

/** Allows no scripts, frames or other origins, because the merchant provides texts of the page. */
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

/** The page that acts as the buyer's UPI app. It needs no credentials but the id of the QR code. */
export function createUpiRouter(gateway: SimulatedGateway): Router {
  const router = createRouter([secureHeaders]);

  router.get('/upi/style.css', (ctx) => {
    ctx.type = 'text/css';
    ctx.body = UPI_STYLE;
  });

  router.get('/upi/:id', (ctx) => {
    const id = ctx.params['id'] ?? '';
    ctx.type = 'text/html';
    ctx.body = upiPage(currentQrCode(gateway, id).entity, paymentsOf(gateway, id));
  });

  router.post('/upi/:id', (ctx) => {
    const id = ctx.params['id'] ?? '';
    const { action, vpa } = form.parse(ctx.request.body);
    // If the QR code was closed meanwhile, the page shows its state instead of an error.
    if (currentQrCode(gateway, id).entity.status === 'active')
      ACTIONS[action](gateway, id, { vpa });
    ctx.status = 303;
    ctx.redirect(`/upi/${encodeURIComponent(id)}`);
  });
  return router;
}
