import { findOrders } from '../../orders/find-orders.ts';
import { ANY_ENVIRONMENT, ANY_MERCHANT, defineCommand, LIMIT, limitOf } from './command.ts';
import { blocks, moreHint, rupees, table } from './text.ts';

export const findCommand = defineCommand({
  name: 'order find',
  summary: 'Find orders of any merchant, the newest first',
  notes: 'Say at least one of the first five; an order is shown when all that is said fits.',
  options: {
    order: { value: 'N', help: 'The order number' },
    'merchant-order-id': { value: 'ID', help: "The merchant's own id of the order" },
    email: { value: 'EMAIL', help: "The buyer's e-mail, in capital or small letters" },
    phone: { value: 'PHONE', help: "The buyer's phone, with or without +91" },
    utr: { value: 'UTR', help: "The payment's, or the reference of a settlement outside" },
    merchant: ANY_MERCHANT,
    environment: ANY_ENVIRONMENT,
    limit: LIMIT,
  },
  async run({ sql }, { order, merchant, 'merchant-order-id': merchantOrderId, limit, ...clues }) {
    const given = { ...clues, orderNumber: order, merchantOrderId, merchantId: merchant };
    const data = await findOrders(sql, given, limitOf(limit));
    const rows = data.orders.map((found) => [
      found.orderNumber,
      found.createdAt,
      found.status,
      rupees(found.amountPaise),
      found.buyerEmail,
      found.buyerPhone,
      found.merchantOrderId,
      found.merchantId,
      found.environment,
    ]);
    const titles = ['ORDER', 'CREATED', 'STATUS', 'INR', 'E-MAIL', 'PHONE'];
    const text = table([...titles, "MERCHANT'S ID", 'MERCHANT', 'ENVIRONMENT'], rows);
    return { data, text: blocks(text, moreHint(data.hasMore)) };
  },
});
