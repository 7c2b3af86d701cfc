import type { AddressInfo } from 'node:net';
import Router from '@koa/router';
import Koa from 'koa';
import postgres from 'postgres';

/**
 * The smallest server that responds to `GET /orders/{id}` with the bytes of the API: Koa, its router
 * and postgres.js. It has no authentication, no limit, no log line, no time limits, no validation and
 * no headers beside the content's, and reads the row by its primary key only.
 *
 * Arguments: the database's URL, the base URL of the payment pages. It sends its port to the process
 * that has started it, and ends with that.
 */
const [databaseUrl = '', publicBaseUrl = ''] = process.argv.slice(2);
const sql = postgres(databaseUrl, { transform: postgres.camel });
const router = new Router();
router.get('/orders/:id', async (ctx) => {
  const [row] = await sql`SELECT * FROM orders WHERE order_number = ${ctx.params['id'] ?? ''}`;
  if (!row) return;
  ctx.type = 'application/json';
  ctx.body = JSON.stringify({
    success: true,
    message: 'Order',
    data: {
      order_number: row['orderNumber'],
      amount: Number(row['amountPaise']) / 100,
      currency: 'INR',
      status: row['status'],
      dispute_count: row['disputeCount'],
      buyer: { email: row['buyerEmail'], name: row['buyerName'], phone: row['buyerPhone'] },
      description: row['description'],
      payment_url: `${publicBaseUrl}/pay/${row['paymentToken']}`,
      payment_link_expires_at: row['paymentLinkExpiresAt'],
      completes_at: row['completesAt'],
      dispute: null,
      refund: null,
      payment: null,
      cancellation: null,
      created_at: row['createdAt'],
      updated_at: row['updatedAt'],
    },
    timestamp: new Date().toISOString(),
  });
});
const server = new Koa().use(router.routes()).listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port);
});
process.once('disconnect', () => process.exit());
