import { ORDER_STATUSES } from '../../domain/index.ts';
import type { OrderRow, OrderSort, OrdersPage } from '../../orders/public.ts';
import { markErased, ORDER_SORTS } from '../../orders/public.ts';
import { numberText } from '../../pages/format.ts';
import { hidden, textField } from '../view/fields.ts';
import { chips } from '../view/filters.ts';
import type { View } from '../view/layout.ts';
import { filterForm } from '../view/layout.ts';
import type { Filters } from '../view/pages.ts';
import { emptyText, pages } from '../view/pages.ts';
import { csvLink, money, notice, orderStatus } from '../view/parts.ts';
import { shortMoment, shortOrder, shortText } from '../view/short-texts.ts';
import type { Column, ColumnSort, TotalsRow } from '../view/table.ts';
import { dataTable, pathWith } from '../view/table.ts';
import { orderPath } from './deps.ts';
import type { FilterQuery } from './filter.ts';
import { filterOf, statusTitle } from './filter.ts';

const SHOWN_CHARACTERS = 32;
/** The list of a merchant's orders. */
export function listView(
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

/** The status is no field of the form, which shows what is wrong with its fields. */
function statusViolation(query: FilterQuery) {
  const violation = filterOf(query).state.violations?.['status'];
  return violation !== undefined && notice('bad', `Status ${violation}`, 'alert');
}

function statusChips(path: string, filters: Filters, counts: OrdersPage['counts']) {
  const all = counts && Object.values(counts).reduce((sum, count) => sum + count, 0);
  return chips('Status', { path, filters, name: 'status', chosen: filters['status'] }, [
    { value: '', title: 'All', count: all },
    ...ORDER_STATUSES.map((value) => ({
      value,
      title: statusTitle(value),
      count: counts?.[value],
    })),
  ]);
}

function searchForm(path: string, filters: FilterQuery) {
  const { state } = filterOf(filters);
  const { status, sort } = filters;
  const placeholder = 'Number, your own id, e-mail, phone, UTR or payment id';
  return filterForm(
    path,
    textField({ name: 'q', label: 'Search', type: 'search', placeholder }, state),
    textField({ name: 'from', label: 'Created from', type: 'date' }, state),
    textField({ name: 'to', label: 'Created to', type: 'date' }, state),
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

/** A click on a column sorts by it, the higher values first, and the next click the other way. */
function columnsOf(
  path: string,
  filters: Filters,
  { sort, sorts }: Pick<OrdersPage, 'sort' | 'sorts'>,
): Column<OrderRow>[] {
  const sortBy = (down: OrderSort, up: OrderSort): ColumnSort | undefined => {
    if (!sorts.includes(up)) return undefined;
    const to = sort === down ? up : down;
    const order = { [down]: 'descending', [up]: 'ascending' } as const;
    return {
      to: pathWith(path, { ...filters, sort: to === ORDER_SORTS[0] ? undefined : to }),
      order: order[sort],
    };
  };
  return [
    ORDER_COLUMN,
    {
      title: 'For',
      cell: ({ description }) => shortText(description, SHOWN_CHARACTERS),
    },
    BUYER_COLUMN,
    { title: 'Status', cell: ({ status }) => orderStatus(status) },
    {
      title: 'Created',
      cell: ({ createdAt }) => shortMoment(createdAt),
      sort: sortBy('newest', 'oldest'),
    },
    {
      title: 'Amount',
      isNumber: true,
      cell: ({ amountPaise }) => money(amountPaise),
      sort: sortBy('largest', 'smallest'),
    },
  ];
}

const ORDER_COLUMN = {
  title: 'Order',
  cell: (order: OrderRow) => shortOrder(orderPath(order), order),
};

const BUYER_COLUMN = {
  title: 'Buyer',
  cell: ({ buyerEmail, buyerName }: OrderRow) =>
    shortText(buyerName || buyerEmail, SHOWN_CHARACTERS),
};
