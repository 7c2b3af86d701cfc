import { filterForm, textField } from '../../src/dashboard/view/fields.ts';
import { chips, pages, tabs } from '../../src/dashboard/view/pages.ts';
import { facts, money, orderStatus, section } from '../../src/dashboard/view/parts.ts';
import { stackedPlot } from '../../src/dashboard/view/plot.ts';
import { shortId, shortMoment, shortText } from '../../src/dashboard/view/texts.ts';
import type { Columns } from '../../src/dashboard/view/table.ts';
import { dataTable } from '../../src/dashboard/view/table.ts';

export function navigation(path: string) {
  const counts = { paid: 12, disputed: 0 };
  const list = { path, filters: {}, name: 'status', chosen: '', counts };
  return section(
    'navigation',
    'Filters and tabs',
    tabs('Tabs', { [path]: 'Current', [`${path}#tables`]: 'Other' }, path),
    chips('Quick filters', list, { '': 'All', paid: 'Paid', disputed: 'Disputed' }),
    filterForm(
      path,
      { values: {} },
      textField({ name: 'filter-q', label: 'Search', type: 'search' }),
      textField({ name: 'filter-from', label: 'From', type: 'date' }),
    ),
  );
}

const ROWS = [
  { order: 'ORD01M89S5PGCBD325Y63WHGZ3SRN', paise: 49_950, status: 'COMPLETED' },
  { order: 'ORD01M89S5PGCBD325Y63WHGZ4TTP', paise: 1_29_900, status: 'DISPUTE_OPEN' },
] as const;
type Row = (typeof ROWS)[number];

const AT = new Date('2026-11-22T12:30:00Z');

const columnsOf = (path: string): Columns<Row> => ({
  Order: ({ order }) => shortId('order number', order, path),
  Status: ({ status }) => orderStatus(status),
  Description: () => shortText('Blue kurta, size M, and a scarf of the same cloth'),
  Created: { sort: { to: path, order: 'descending' }, cell: () => shortMoment(AT, AT) },
  Amount: { isNumber: true, cell: ({ paise }) => money(paise), sort: { to: path } },
});

export function tables(path: string) {
  const totals = [{ title: 'In all', cells: { Amount: money(1_79_850) } }];
  const empty = 'There are no orders.';
  return section(
    'tables',
    'Tables',
    dataTable({ caption: 'Orders', empty, rows: ROWS, columns: columnsOf(path), totals }),
    pages({
      path,
      filters: {},
      chosen: { page: 2, size: 25 },
      shown: 25,
      total: { count: 240, isMore: false },
    }),
    dataTable({ caption: 'No orders', empty, rows: [], columns: columnsOf(path) }),
    facts({ Name: 'Its value', Amount: money(49_950), Status: orderStatus('PAID') }),
  );
}

const DAYS = [
  { day: '2026-11-20', completed: 3, paid: 1, refunded: 1 },
  { day: '2026-11-21', completed: 5, paid: 2, refunded: 0 },
  { day: '2026-11-22', completed: 2, paid: 3, refunded: 1 },
];

export function plots() {
  return section(
    'plots',
    'Plots',
    stackedPlot({
      id: 'pattern-plot',
      title: 'Orders by day',
      description: 'Fifteen orders in three days.',
      titles: { completed: 'Completed', paid: 'Paid', refunded: 'Refunded' },
      rows: DAYS,
      spanOf: ({ day }) => day,
      tickText: String,
      readingText: ({ day, completed }) => `${day}: ${completed} completed`,
      table: { caption: 'Orders by day', empty: 'None.', first: { Day: ({ day }) => day } },
    }),
  );
}
