import { Readable } from 'node:stream';
import { z } from 'zod';
import type { OrderStatus } from '../../domain/index.ts';
import { ORDER_STATUSES } from '../../domain/index.ts';
import type { OrderRow, OrderSort, OrdersPage } from '../../orders/public.ts';
import { markErased, ORDER_SORTS } from '../../orders/public.ts';
import { numberText } from '../../pages/format.ts';
import { startOfDay, todayInIndia, WRONG_DAY } from '../money/period.ts';
import { filterForm, hidden, textField } from '../view/fields.ts';
import type { View } from '../view/layout.ts';
import type { Filters } from '../view/pages.ts';
import { chips, emptyText, pageFields, pages, partOf } from '../view/pages.ts';
import { csvLink, money, notice, ORDER_STATUS_LOOKS, orderStatus } from '../view/parts.ts';
import type { Columns, ColumnSort, TotalsRow } from '../view/table.ts';
import { dataTable } from '../view/table.ts';
import { shortMoment, shortOrder, shortText } from '../view/texts.ts';
import { pathWith } from '../view/url.ts';
import { ownerOf, pathOf } from '../viewer.ts';
import { orderPath, ordersPage } from './parts.ts';

/** The query of the list of orders and of its CSV file, as the form sends it. */
const filterQuery = z.object({
  q: z.string().optional(),
  status: z.string().optional(),
  /** Days in India, both inclusive. */
  from: z.string().optional(),
  to: z.string().optional(),
  sort: z.enum(ORDER_SORTS).catch(ORDER_SORTS[0]),
  ...pageFields,
});
type FilterQuery = z.output<typeof filterQuery>;

/** In the merchant's words: a paid order is one to deliver. */
const statusTitle = (status: OrderStatus): string =>
  status === 'PAID' ? 'To deliver' : ORDER_STATUS_LOOKS[status].text;

const DAY_MS = 24 * 3_600_000;

/** Reads the filter of a query. An invalid field is reported and left out. */
function filterOf({ q, status, from, to }: FilterQuery) {
  const isStatus = (text: string | undefined): text is OrderStatus =>
    ORDER_STATUSES.some((one) => one === text);
  const createdFrom = startOfDay(from);
  const lastDay = startOfDay(to);
  const violations: Readonly<Record<string, string>> = {
    ...(status && !isStatus(status) && { status: 'must be an order status' }),
    ...(createdFrom === null && { from: WRONG_DAY }),
    ...(lastDay === null && { to: WRONG_DAY }),
  };
  const createdTo = lastDay && new Date(lastDay.getTime() + DAY_MS);
  return {
    search: {
      text: q,
      status: isStatus(status) ? status : undefined,
      createdFrom: createdFrom ?? undefined,
      createdTo: createdTo ?? undefined,
    },
    state: { values: { q, status, from, to }, violations },
    isValid: Object.keys(violations).length === 0,
  };
}

/** The list that is shown with an invalid filter. */
const NO_ORDERS: OrdersPage = {
  rows: [],
  total: { count: 0, isMore: false },
  hasMore: false,
  sort: ORDER_SORTS[0],
  sorts: [],
  totalPaise: null,
  counts: undefined,
};

export const listPages = [
  ordersPage('GET /orders', { query: filterQuery }).handledBy(
    async ({ viewer, query }, { orders }) => {
      const owner = ownerOf(viewer);
      const { search, isValid } = filterOf(query);
      const list = isValid
        ? await orders.page(owner, search, partOf(query), query.sort)
        : NO_ORDERS;
      return { status: isValid ? 200 : 400, view: listView(pathOf(owner, '/orders'), query, list) };
    },
  ),
  ordersPage('GET /orders.csv', { query: filterQuery }).handledBy(
    async ({ viewer, query, actor }, { orders }) => {
      const { q, status, from, to } = query;
      const { search, isValid } = filterOf(query);
      if (!isValid)
        return { seeOther: pathWith(pathOf(viewer, '/orders'), { q, status, from, to }) };
      const name = `orders-${viewer.environment}-${todayInIndia()}.csv`;
      return {
        file: Readable.from(await orders.csv(ownerOf(viewer), search, actor)),
        contentType: 'text/csv',
        headers: { 'Content-Disposition': `attachment; filename="${name}"` },
      };
    },
  ),
];

const SHOWN_CHARACTERS = 32;
function listView(
  path: string,
  query: FilterQuery,
  { rows, total, hasMore, sort, ...list }: OrdersPage,
): View {
  const { q, status, from, to, page, size, after } = query;
  const chosenOrders = { q, status, from, to };
  const filters = { ...chosenOrders, sort: sort === ORDER_SORTS[0] ? undefined : sort };
  const chosen = { page, size, after };
  const next = hasMore ? rows.at(-1)?.orderNumber : undefined;
  const isFiltered = Object.values(chosenOrders).some(Boolean);
  return {
    title: 'Orders',
    beside: rows.length > 0 && csvLink(pathWith(`${path}.csv`, chosenOrders)),
    content: [
      status !== undefined && statusViolation(query),
      statusChips(path, filters, list.counts),
      searchForm(path, query),
      dataTable({
        caption: `Orders, ${SORT_TEXTS[sort]}`,
        isCompact: true,
        columns: columnsOf(path, filters, { sort, ...list }),
        rows: rows.map(markErased),
        empty: emptyText(chosen, isFiltered ? 'No order matches.' : 'There are no orders yet.'),
        totals: totalsOf(rows, { total, ...list }),
      }),
      pages({ path, filters, chosen, shown: rows.length, total, next }),
    ],
  };
}

const SORT_TEXTS = {
  newest: 'newest first',
  oldest: 'oldest first',
  largest: 'largest amount first',
  smallest: 'smallest amount first',
} as const satisfies Record<OrderSort, string>;

/** An invalid status is shown here, because the form has no field for it. */
function statusViolation(query: FilterQuery) {
  const violation = filterOf(query).state.violations['status'];
  return violation !== undefined && notice('bad', `Status ${violation}`, 'alert');
}

function statusChips(path: string, filters: Filters, counts: OrdersPage['counts']) {
  const all = counts && Object.values(counts).reduce((sum, count) => sum + count, 0);
  const titles = ORDER_STATUSES.map((status) => [status, statusTitle(status)]);
  return chips(
    'Status',
    {
      path,
      filters,
      name: 'status',
      chosen: filters['status'],
      counts: counts && { '': all ?? 0, ...counts },
    },
    { '': 'All', ...(Object.fromEntries(titles) as Record<string, string>) },
  );
}

function searchForm(path: string, filters: FilterQuery) {
  const { state } = filterOf(filters);
  const { status, sort } = filters;
  const placeholder = 'Number, your own id, e-mail, phone, UTR or payment id';
  return filterForm(
    path,
    state,
    textField({ name: 'q', label: 'Search', type: 'search', placeholder }),
    textField({ name: 'from', label: 'Created from', type: 'date' }),
    textField({ name: 'to', label: 'Created to', type: 'date' }),
    status && hidden('status', status),
    sort !== ORDER_SORTS[0] && hidden('sort', sort),
  );
}

/** The amounts of the page and, unless the list is too long to be added up, of all its orders. */
function totalsOf(
  rows: readonly OrderRow[],
  { total, totalPaise }: Pick<OrdersPage, 'total' | 'totalPaise'>,
): TotalsRow[] {
  const ofPage = rows.reduce((sum, { amountPaise }) => sum + amountPaise, 0);
  const isAll = total !== undefined && total.count === rows.length;
  const page = { title: isAll ? 'Total' : 'Total of this page', cells: { Amount: money(ofPage) } };
  if (isAll || total === undefined || totalPaise === null) return [page];
  const all = {
    title: `Total of all ${numberText(total.count)}`,
    cells: { Amount: money(totalPaise) },
  };
  return [page, all];
}

/** A click on a column sorts it in descending order, the next click in ascending order. */
function columnsOf(
  path: string,
  filters: Filters,
  { sort, sorts }: Pick<OrdersPage, 'sort' | 'sorts'>,
): Columns<OrderRow> {
  const sortBy = (down: OrderSort, up: OrderSort): ColumnSort | undefined => {
    if (!sorts.includes(up)) return undefined;
    const to = sort === down ? up : down;
    const order = { [down]: 'descending', [up]: 'ascending' } as const;
    return {
      to: pathWith(path, { ...filters, sort: to === ORDER_SORTS[0] ? undefined : to }),
      order: order[sort],
    };
  };
  return {
    Order: (order) => shortOrder(orderPath(order), order),
    For: ({ description }) => shortText(description, SHOWN_CHARACTERS),
    Buyer: ({ buyerEmail, buyerName }) => shortText(buyerName || buyerEmail, SHOWN_CHARACTERS),
    Status: ({ status }) => orderStatus(status),
    Created: { cell: ({ createdAt }) => shortMoment(createdAt), sort: sortBy('newest', 'oldest') },
    Amount: {
      isNumber: true,
      cell: ({ amountPaise }) => money(amountPaise),
      sort: sortBy('largest', 'smallest'),
    },
  };
}
