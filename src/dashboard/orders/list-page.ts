import { Readable } from 'node:stream';
import { h } from 'preact';
import type { ListPage } from '../../db/list-part.ts';
import { ORDER_STATUSES } from '../../domain/index.ts';
import type { Route } from '../../http/define-route.ts';
import type { OrderRow } from '../../orders/public.ts';
import { markErased } from '../../orders/public.ts';
import type { PageContext } from '../context.ts';
import { definePage } from '../page.ts';
import { choice, textField } from '../view/fields.ts';
import { filterForm } from '../view/layout.ts';
import type { View } from '../view/layout.ts';
import { emptyText, pages, partOf } from '../view/pages.ts';
import { moment, money, orderStatus } from '../view/parts.ts';
import { shortId, shortText } from '../view/short-texts.ts';
import { dataTable, pathWith } from '../view/table.ts';
import { link } from '../view/url.ts';
import type { OrderPagesDeps } from './deps.ts';
import { orderPath } from './deps.ts';
import { ownerOf, pathOf } from '../viewer.ts';
import type { FilterQuery, OrderFilters } from './filter.ts';
import { filterOf, filterQuery } from './filter.ts';

const NO_ORDERS = { rows: [], total: undefined, hasMore: false };
const SHOWN_CHARACTERS = 60;

/** The list of a merchant's orders, with one box to search it, and the same orders as a CSV file. */
export function listPages(context: PageContext, deps: OrderPagesDeps): Route[] {
  return [...listPage(context, deps), ...csvFile(context, deps)];
}

function listPage(context: PageContext, { orders }: OrderPagesDeps): Route[] {
  return definePage(context, {
    audience: 'merchant',
    method: 'GET',
    path: '/orders',
    query: filterQuery,
  }).handledBy(async ({ viewer, query }) => {
    const owner = ownerOf(viewer);
    const { search, isValid } = filterOf(query);
    const list = isValid ? await orders.page(owner, search, partOf(query), 'newest') : NO_ORDERS;
    return { status: isValid ? 200 : 400, view: listView(pathOf(owner, '/orders'), query, list) };
  });
}

function csvFile(context: PageContext, { orders }: OrderPagesDeps): Route[] {
  return definePage(context, {
    audience: 'merchant',
    method: 'GET',
    path: '/orders.csv',
    query: filterQuery,
  }).handledBy(async ({ viewer, query, actor }) => {
    const { q, status, from, to } = query;
    const { search, isValid } = filterOf(query);
    if (!isValid) return { seeOther: pathWith(pathOf(viewer, '/orders'), { q, status, from, to }) };
    const today = new Date().toISOString().slice(0, 'YYYY-MM-DD'.length);
    const name = `orders-${viewer.environment}-${today}.csv`;
    return {
      file: Readable.from(await orders.csv(ownerOf(viewer), search, actor)),
      contentType: 'text/csv',
      headers: { 'Content-Disposition': `attachment; filename="${name}"` },
    };
  });
}

function listView(
  path: string,
  { page, size, after, ...filters }: FilterQuery,
  { rows, total, hasMore }: ListPage<OrderRow>,
): View {
  const chosen = { page, size, after };
  const next = hasMore ? rows.at(-1)?.orderNumber : undefined;
  return {
    title: 'Orders',
    content: [
      searchForm(path, filters),
      dataTable({
        caption: 'Orders, newest first',
        columns: COLUMNS,
        rows: rows.map(markErased),
        empty: emptyText(
          chosen,
          Object.values(filters).some(Boolean) ? 'No order matches.' : 'There are no orders yet.',
        ),
      }),
      pages({ path, filters, chosen, shown: rows.length, total, next }),
      rows.length > 0 &&
        h('p', null, link(pathWith(`${path}.csv`, filters), 'Save these orders as CSV')),
    ],
  };
}

function searchForm(path: string, filter: OrderFilters) {
  const { state } = filterOf(filter);
  const label = 'Number, your own id, e-mail, phone, UTR or payment id';
  return filterForm(
    path,
    textField({ name: 'q', label, type: 'search' }, state),
    choice(
      {
        name: 'status',
        label: 'Status',
        placeholder: 'All',
        choices: Object.fromEntries(ORDER_STATUSES.map((status) => [status, status])),
      },
      state,
    ),
    textField({ name: 'from', label: 'Created from', type: 'date' }, state),
    textField({ name: 'to', label: 'Created to', type: 'date' }, state),
  );
}

const COLUMNS = [
  {
    title: 'Order',
    cell: (order: OrderRow) => [
      order.merchantOrderId === null
        ? shortId('order number', order.orderNumber, orderPath(order))
        : link(orderPath(order), shortText(order.merchantOrderId)),
      h('br', null),
      h('span', { class: 'hint' }, shortText(order.description, SHOWN_CHARACTERS)),
    ],
  },
  {
    title: 'Buyer',
    cell: ({ buyerEmail, buyerName }: OrderRow) => shortText(buyerName || buyerEmail),
  },
  { title: 'Created', cell: ({ createdAt }: OrderRow) => moment(createdAt) },
  { title: 'Status', cell: ({ status }: OrderRow) => orderStatus(status) },
  {
    title: 'Amount',
    isNumber: true,
    cell: ({ amountPaise }: OrderRow) => money(amountPaise),
  },
];
