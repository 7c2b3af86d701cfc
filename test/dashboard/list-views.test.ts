import type { ComponentChildren } from 'preact';
import { Fragment, h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { PagedList } from '../../src/dashboard/view/pages.ts';
import { pageFields, pageFieldsOf, pages, partOf } from '../../src/dashboard/view/pages.ts';
import { dataTable } from '../../src/dashboard/view/table.ts';

const query = z.object(pageFields);
const rendered = (content: ComponentChildren) => renderToString(h(Fragment, null, content));
const OF_MANY = { count: 12_345, isMore: false };
const COUNTED = { count: 1000, isMore: true };

/** The text of a list's pages, and where its links lead by their names. */
function shownOf(list: Partial<PagedList> & { query?: Record<string, string> }) {
  const { query: given = {}, ...others } = list;
  const html = rendered(
    pages({
      path: '/list',
      filters: { status: 'PAID' },
      chosen: query.parse(given),
      shown: 25,
      total: OF_MANY,
      ...others,
    }),
  );
  const links = Array.from(html.matchAll(/<a href="([^"]+)"[^>]*>([^<]+)</g), ([, to, name]) => [
    name ?? '',
    (to ?? '').replaceAll('&amp;', '&'),
  ]);
  const text = html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
  return { html, text, links: Object.fromEntries(links) as Record<string, string> };
}

describe('the pages of a list', () => {
  test('say which rows of how many are shown, and lead to the first, the next and the last one', () => {
    const { text, links } = shownOf({ query: { page: '3' } });
    expect(text).toContain('51–75 of 12,345');
    expect(links).toEqual({
      Previous: '/list?status=PAID&page=2',
      1: '/list?status=PAID',
      2: '/list?status=PAID&page=2',
      3: '/list?status=PAID&page=3',
      4: '/list?status=PAID&page=4',
      494: '/list?status=PAID&page=494',
      Next: '/list?status=PAID&page=4',
      25: '/list?status=PAID',
      50: '/list?status=PAID&size=50',
      100: '/list?status=PAID&size=100',
    });
  });

  test('have a field for a number, which keeps the filter and the rows of a page', () => {
    const { html } = shownOf({ query: { size: '50' } });
    expect(html).toContain('<input type="hidden" name="status" value="PAID"/>');
    expect(html).toContain('<input type="hidden" name="size" value="50"/>');
    expect(html).toMatch(/<input type="number" name="page" min="1" max="247"/);
  });

  test('that are not all counted say so, and lead on by a key after the last number', () => {
    const last = shownOf({ query: { page: '40' }, total: COUNTED, next: 'ORD40' });
    expect(last.text).toContain('976–1,000 of more than 1,000');
    expect(last.links['Next']).toBe('/list?status=PAID&after=ORD40');
    const before = shownOf({ query: { page: '39' }, total: COUNTED, next: 'ORD39' });
    expect(before.links['Next']).toBe('/list?status=PAID&page=40');
    const beyond = shownOf({ query: { after: 'ORD40' }, total: undefined, next: 'ORD41' });
    expect(beyond.text).toContain('25 rows beyond the first 1,000');
    expect(beyond.links['Next']).toBe('/list?status=PAID&after=ORD41');
    expect(beyond.links['First page']).toBe('/list?status=PAID');
  });

  test('of a list that fits on one are a line without links', () => {
    const { text, links } = shownOf({ shown: 7, total: { count: 7, isMore: false } });
    expect([text.trim(), links]).toEqual(['1–7 of 7', {}]);
  });
});

test('a query that chooses no page or no size is the first page with the usual one', () => {
  const wrong = [{ page: '0' }, { page: '1.5' }, { page: 'x' }, { page: '9'.repeat(30) }, {}];
  for (const given of [...wrong, { size: '26' }, { size: 'all' }]) {
    expect(partOf(query.parse(given))).toEqual({ skip: 0, limit: 25 });
  }
  expect(partOf(query.parse({ page: '3', size: '100' }))).toEqual({ skip: 200, limit: 100 });
  expect(partOf(query.parse({ page: '3', after: 'ORD1' }))).toEqual({
    skip: 0,
    limit: 25,
    after: 'ORD1',
  });
  expect(partOf(z.object(pageFieldsOf([10, 25])).parse({ page: '2' }))).toEqual({
    skip: 10,
    limit: 10,
  });
});

test('a table marks the column that sorts it, and has its totals under their columns', () => {
  const html = rendered(
    dataTable({
      caption: 'Fruits',
      empty: 'None.',
      rows: [{ name: 'Mango', count: 3 }],
      columns: {
        Name: { sort: { to: '/a', order: 'ascending' }, cell: ({ name }) => name },
        Count: { isNumber: true, sort: { to: '/b' }, cell: ({ count }) => count },
      },
      totals: [{ title: 'Total', cells: { Count: 3 } }],
    }),
  );
  expect(html).toMatch(/<th scope="col" aria-sort="ascending"><a href="\/a"[^>]*>Name.*↑/);
  expect(html).toMatch(/<th scope="col" class="number"><a href="\/b"[^>]*>Count.*↕/);
  expect(html).toMatch(
    /<tfoot><tr><th scope="row">Total<\/th><td data-title="Count" class="number">3</,
  );
});
