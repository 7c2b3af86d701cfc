import { Readable } from 'node:stream';
import type { Route } from '../../http/define-route.ts';
import type { OrdersPage } from '../../orders/public.ts';
import { ORDER_SORTS } from '../../orders/public.ts';
import type { PageContext } from '../context.ts';
import { todayInIndia } from '../money/days.ts';
import { definePage } from '../page.ts';
import { partOf } from '../view/pages.ts';
import { pathWith } from '../view/table.ts';
import { ownerOf, pathOf } from '../viewer.ts';
import type { OrderPagesDeps } from './deps.ts';
import { filterOf, filterQuery } from './filter.ts';
import { listView } from './list-view.ts';

/** Shown with what is wrong with the filter. */
const NO_ORDERS: OrdersPage = {
  rows: [],
  total: { count: 0, isMore: false },
  hasMore: false,
  sort: ORDER_SORTS[0],
  sorts: [],
  totalPaise: null,
  counts: undefined,
};

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
    const list = isValid ? await orders.page(owner, search, partOf(query), query.sort) : NO_ORDERS;
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
    const name = `orders-${viewer.environment}-${todayInIndia()}.csv`;
    return {
      file: Readable.from(await orders.csv(ownerOf(viewer), search, actor)),
      contentType: 'text/csv',
      headers: { 'Content-Disposition': `attachment; filename="${name}"` },
    };
  });
}
