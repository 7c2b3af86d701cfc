// An order goes through its life in the sandbox.
//
// PAYORDERS_API_KEY, PAYORDERS_API_SECRET and PAYORDERS_BASE_URL are what `npm start` prints.
import { createClient, formatPaise, PayordersError, toPaise } from 'payorders';

const { PAYORDERS_API_KEY, PAYORDERS_API_SECRET, PAYORDERS_BASE_URL } = process.env;
const { orders, disputes, events, sandbox } = createClient({
  environment: 'sandbox',
  apiKey: PAYORDERS_API_KEY ?? '',
  apiSecret: PAYORDERS_API_SECRET ?? '',
  baseUrl: PAYORDERS_BASE_URL ?? '',
});

// The id of your own order, which you save first.
const merchantOrderId = `SHOP-${crypto.randomUUID()}`;
const idempotencyKey = `${merchantOrderId}-create`;
const kurta = {
  amount: '499.50',
  buyerEmail: 'asha@example.com',
  buyerPhone: '+919876543210',
  description: 'Blue kurta, size M',
  merchantOrderId,
};

const order = await orders.create(kurta, { idempotencyKey });
const { order_number: orderNumber } = order;
console.log('created', order.status, formatPaise(toPaise(order.amount)));

// The same call returns the same order: after a crash, too.
const again = await orders.create(kurta, { idempotencyKey });
console.log('again', again.order_number === orderNumber);

console.log('paid', (await sandbox.pay(orderNumber)).status);
console.log('delivered', (await orders.deliver(orderNumber, { trackingId: 'IN1' })).status);
const raised = await sandbox.dispute(orderNumber, { reason: 'It never arrived here' });
console.log('disputed', raised.status);
const evidence = await disputes.submitEvidence(orderNumber, { text: 'A photo of the delivery' });
console.log('evidence', evidence.status);
const resolved = await disputes.resolve(orderNumber, { resolution: 'A new one is on its way' });
console.log('resolved', resolved.status);
const timeline = await orders.timeline(orderNumber);
console.log('next', timeline.next?.action);

// A 500 after the work was done: the client repeats the call, and nothing is done twice.
await sandbox.failAfterWork();
const second = await orders.create({ ...kurta, amount: 5 });
const opened = await orders.openPaymentSession(second.order_number);
const session = await orders.getPaymentSession(second.order_number, opened.session_id);
console.log('session', session.status);
let count = 0;
for await (const _ of orders.list({ merchantOrderId, size: 1 })) count += 1;
console.log('listed', count);
const cancelled = await orders.cancel(second.order_number, { reason: 'Sold out' });
console.log('cancelled', cancelled.status);

for await (const { sequence, event } of events.list({ orderNumber, size: 2 })) {
  console.log('event', sequence, event);
}
const { content } = await events.list({ orderNumber }).page();
const [first] = content;
const details = await events.get(first?.event_id ?? '');
console.log('details', details.event.event);

const refused = [
  () => orders.deliver(orderNumber),
  () => orders.create({ ...kurta, amount: 4 }),
  () => orders.create({ ...kurta, amount: 7 }, { idempotencyKey }),
];
for (const call of refused) {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof PayordersError)) throw error;
    console.log('error', error.status, error.code, Object.keys(error.fields).join(','));
  }
}
