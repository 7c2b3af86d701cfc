import { markErased } from '../../orders/erased.ts';
import { findOrders } from '../../orders/lists/find-orders.ts';
import { ANY_ENVIRONMENT, ANY_MERCHANT, defineCommand, LIMIT, limitOf } from './command.ts';
import { blocks, moreHint, rupees, table } from './text.ts';

/** `order find` */
export const findCommand = defineCommand({
  name: 'order find',
  summary: 'Find orders of any merchant, the newest first',
  notes:
    'At least one of the first five options is required; orders that match all options are shown.',
  options: {
    order: { value: 'N', help: 'The order number' },
    'merchant-order-id': { value: 'ID', help: "The merchant's own id of the order" },
    email: { value: 'EMAIL', help: "The buyer's email, in upper or lower case" },
    phone: { value: 'PHONE', help: "The buyer's phone, with or without +91" },
    utr: {
      value: 'UTR',
      help: "The payment's UTR, or the reference of a settlement outside the gateway",
    },
    merchant: ANY_MERCHANT,
    environment: ANY_ENVIRONMENT,
    limit: LIMIT,
  },
  async run({ sql }, { order, merchant, 'merchant-order-id': merchantOrderId, limit, ...filters }) {
    const given = { ...filters, orderNumber: order, merchantOrderId, merchantId: merchant };
    const data = await findOrders(sql, given, limitOf(limit));
    const rows = data.orders
      .map(markErased)
      .map((found) => [
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
