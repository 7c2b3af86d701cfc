import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { emptyState } from './parts.ts';
import { link, pathWith } from './url.ts';

type Cell<Row> = (row: Row) => ComponentChildren;

/** A column of a {@link dataTable}. */
interface Column<Row> {
  /** Stands in the place of its title, such as a box that selects all rows. */
  readonly inPlace?: ComponentChildren;
  readonly cell: Cell<Row>;
  /** Amounts and counts are aligned at their end. */
  readonly isNumber?: boolean;
  /** Never wraps, unless the screen is narrow. */
  readonly isLine?: boolean;
  /** Of a column by which the rows can be sorted. */
  readonly sort?: ColumnSort | undefined;
}

/** The columns of a table by their titles: what their cells show of a row. */
export type Columns<Row> = Readonly<Record<string, Cell<Row> | Column<Row>>>;

/** How a column is sorted, and the path of the page on which it is sorted the other way. */
export interface ColumnSort {
  readonly to: string;
  /** Undefined while the rows are in the order of another column. */
  readonly order?: 'ascending' | 'descending' | undefined;
}

/** A row below the others, such as the sum of their amounts. */
export interface TotalsRow {
  readonly title: string;
  /** By the titles of their columns, which the first one is not among. */
  readonly cells: Readonly<Record<string, ComponentChildren>>;
}

/** What a {@link dataTable} shows. */
export interface DataTable<Row> {
  /** Says what the table lists; read by screen readers, also as the name of its frame. */
  readonly caption: string;
  readonly columns: Columns<Row>;
  readonly rows: readonly Row[];
  /** Shown instead of a table without rows. */
  readonly empty: ComponentChildren;
  readonly totals?: readonly TotalsRow[];
  /** Each cell explains itself: on a narrow screen a row has two lines, without titles. */
  readonly isCompact?: boolean;
}

/**
 * Rows under their titles. A table that is wider than its place scrolls in its frame, also by the keyboard.
 * The frame is a group and no region: a page would have as many landmarks as tables, some of them with the
 * name of their section. On a narrow screen each row becomes a block, in which every value has its title.
 */
export function dataTable<Row>(table: DataTable<Row>) {
  const { caption, rows, empty, totals = [], isCompact } = table;
  const columns = Object.entries(table.columns).map(([title, column]) =>
    typeof column === 'function' ? { title, cell: column } : { title, ...column },
  );
  if (rows.length === 0) return emptyState(empty);
  return h(
    'div',
    {
      class: isCompact ? 'table compact' : 'table',
      tabIndex: 0,
      role: 'group',
      'aria-label': caption,
    },
    h(
      'table',
      null,
      h('caption', { class: 'hidden' }, caption),
      h('thead', null, h('tr', null, columns.map(columnTitle))),
      h(
        'tbody',
        null,
        rows.map((row, index) =>
          h(
            'tr',
            { key: index },
            columns.map((column) => rowCell(column, column.cell(row))),
          ),
        ),
      ),
      totals.length > 0 &&
        h(
          'tfoot',
          null,
          totals.map((row) => totalsRow(columns, row)),
        ),
    ),
  );
}

/** What the cells of a column have in common. */
type AnyColumn = Omit<Column<never>, 'cell'> & { readonly title: string };

const classOf = ({ isNumber, isLine }: AnyColumn) =>
  isNumber ? 'number' : isLine ? 'line' : undefined;

const ARROWS = { ascending: '↑', descending: '↓' } as const;

function columnTitle(column: AnyColumn) {
  const { title, sort, inPlace } = column;
  const content = () => {
    if (inPlace) return [h('span', { class: 'hidden' }, title), inPlace];
    return sort ? sortLink(title, sort) : title;
  };
  return h(
    'th',
    { key: title, scope: 'col', class: classOf(column), 'aria-sort': sort?.order },
    content(),
  );
}

function sortLink(title: string, { to, order }: ColumnSort) {
  const arrow = order === undefined ? '↕' : ARROWS[order];
  const shown = [title, h('span', { 'aria-hidden': 'true' }, `\u00A0${arrow}`)];
  return link(to, shown, { class: 'sort' });
}

function valueCell(column: AnyColumn, value: ComponentChildren) {
  const { title } = column;
  return h('td', { key: title, 'data-title': title, class: classOf(column) }, value);
}

/** Without a value the cell has a dash, which a row of a narrow screen leaves out. */
function rowCell(column: AnyColumn, value: ComponentChildren) {
  const isBlank = value === null || value === undefined || value === false || value === '';
  if (!isBlank) return valueCell(column, value);
  const { title } = column;
  const className = [classOf(column), 'blank'].filter(Boolean).join(' ');
  return h('td', { key: title, 'data-title': title, class: className }, '–');
}

function totalsRow([, ...others]: readonly AnyColumn[], { title, cells }: TotalsRow) {
  return h(
    'tr',
    { key: title },
    h('th', { scope: 'row' }, title),
    others.map((column) => valueCell(column, cells[column.title])),
  );
}

/**
 * The links below a list that is read by keys: back to the newest rows, and on to older ones.
 *
 * @param path of the list
 * @param query its filters, which the links keep
 * @param position.before the key from which this page was read; undefined on the first page
 * @param position.next the key of the next page; undefined on the last one
 */
export function pager(
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  { before, next }: { before?: string | undefined; next?: string | undefined },
) {
  if (before === undefined && next === undefined) return null;
  return h(
    'nav',
    { class: 'pages', 'aria-label': 'Pages' },
    before !== undefined && link(pathWith(path, query), 'Newest', { class: 'button small' }),
    next !== undefined &&
      link(pathWith(path, { ...query, before: next }), 'Older', {
        rel: 'next',
        class: 'button small',
      }),
  );
}
