import { h } from 'preact';
import { z } from 'zod';
import type { WithMerchantName } from '../../merchants/public.ts';
import { withMerchantNames, writeLook } from '../../merchants/public.ts';
import type { OrderRow } from '../../orders/public.ts';
import { markErased, searchAllOrders } from '../../orders/public.ts';
import { shorten } from '../../pages/format.ts';
import { filterForm, textField } from '../view/fields.ts';
import type { PageChoice } from '../view/pages.ts';
import { emptyText, pageFields, pages, partOf } from '../view/pages.ts';
import { money, orderStatus } from '../view/parts.ts';
import { dataTable } from '../view/table.ts';
import { shortMoment, shortText } from '../view/texts.ts';
import { merchantIn, operatorPage, orderLink } from './parts.ts';

const searchSchema = z.object({
  text: z.string().trim().max(254).optional(),
  merchant: z.string().trim().max(64).optional(),
});

/** The newest orders first. */
export const orderSearchPage = operatorPage('GET /orders', {
  query: searchSchema.extend(pageFields),
}).handledBy(async ({ query, actor }, { sql }) => {
  const { text, merchant: merchantId } = query;
  const search = { text, merchant: merchantId };
  const found = await searchAllOrders(sql, { text, merchantId }, partOf(query));
  const { rows, total } = found;
  const shown = rows.map(({ orderNumber }) => orderNumber);
  // Not the text that was searched, which may be a buyer's address.
  if (shown.length > 0) {
    await writeLook(sql, { actor, action: 'buyer.search', details: { orders: shown } });
  }
  const next = found.hasMore ? rows.at(-1)?.orderNumber : undefined;
  const content = [
    filterForm(
      '/operator/orders',
      { values: search },
      textField({
        name: 'text',
        label: 'Number, own id, e-mail, phone, UTR or any reference',
        type: 'search',
      }),
      textField({ name: 'merchant', label: 'Merchant id' }),
    ),
    orderTable(await withMerchantNames(sql, rows), query),
    pages({
      path: '/operator/orders',
      filters: search,
      chosen: query,
      shown: rows.length,
      total,
      next,
    }),
  ];
  return { view: { title: 'Orders', content } };
});

/** A request that was refused before it wrote anything is only in the log. */
const NOTHING_FOUND =
  'No order matches. A request that changed no order is only in the log, under its reference.';

function orderTable(
  orders: readonly WithMerchantName<OrderRow>[],
  { text = '', ...chosen }: PageChoice & { text?: string | undefined },
) {
  return dataTable({
    caption: 'Orders, newest first',
    isCompact: true,
    rows: orders.map(markErased),
    empty: emptyText(chosen, text === '' ? 'No order matches.' : NOTHING_FOUND),
    columns: {
      Order: ({ orderNumber }) => orderLink(orderNumber),
      Status: ({ status }) => orderStatus(status),
      Merchant: { isLine: true, cell: merchantIn },
      'Own id': {
        isLine: true,
        cell: ({ merchantOrderId }) => merchantOrderId && shortText(merchantOrderId, 20),
      },
      Buyer: {
        isLine: true,
        cell: ({ buyerEmail, buyerPhone }) =>
          h('bdi', { title: `${buyerEmail}, ${buyerPhone}` }, shorten(buyerEmail, 28)),
      },
      Created: ({ createdAt }) => shortMoment(createdAt),
      Amount: { isNumber: true, cell: ({ amountPaise }) => money(amountPaise) },
    },
  });
}
