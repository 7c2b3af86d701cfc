import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import { link } from './url.ts';

/** A column of a {@link dataTable}. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Amounts and counts are aligned at their end. */
  readonly isNumber?: boolean;
}

/**
 * Rows under their titles. On a narrow screen each row becomes a block, in which every value has its
 * title.
 *
 * @param table.caption says what the table lists; read by screen readers
 * @param table.empty shown instead of a table without rows
 */
export function dataTable<Row>(table: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  empty: ComponentChildren;
}) {
  const { caption, columns, rows, empty } = table;
  if (rows.length === 0) return h('p', { class: 'empty' }, empty);
  const numberClass = ({ isNumber }: Column<Row>) => (isNumber ? 'number' : undefined);
  return h(
    'table',
    null,
    h('caption', { class: 'hidden' }, caption),
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        columns.map((column) =>
          h('th', { key: column.title, scope: 'col', class: numberClass(column) }, column.title),
        ),
      ),
    ),
    h(
      'tbody',
      null,
      rows.map((row, index) =>
        h(
          'tr',
          { key: index },
          columns.map((column) =>
            h(
              'td',
              { key: column.title, 'data-title': column.title, class: numberClass(column) },
              column.cell(row),
            ),
          ),
        ),
      ),
    ),
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
    { class: 'pager', 'aria-label': 'Pages' },
    before !== undefined && link(pathWith(path, query), 'Newest'),
    next !== undefined &&
      link(pathWith(path, { ...query, before: next }), 'Older', { rel: 'next' }),
  );
}

/** A path with a query; empty and absent fields are left out. */
export function pathWith(
  path: string,
  query: Readonly<Record<string, string | undefined>>,
): string {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}
