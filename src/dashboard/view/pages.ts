import { h } from 'preact';
import { z } from 'zod';
import type { ListPart, ListTotal } from '../../db/list-part.ts';
import { MOST_NUMBERED } from '../../db/list-part.ts';
import { numberText } from '../../pages/format.ts';
import { hidden, submit } from './fields.ts';
import { hint } from './parts.ts';
import { form, link, pathWith } from './url.ts';

/** The numbers of rows on a page to choose from; the first is the usual one. */
export type PageSizes = readonly [number, ...number[]];
const USUAL_SIZES: PageSizes = [25, 50, 100];
const MOST_PAGES = 1_000_000;

/** The fields of a list's query that choose the page. What is no page is the first one. */
export const pageFieldsOf = (sizes: PageSizes) => ({
  page: z.coerce.number().int().min(1).max(MOST_PAGES).catch(1),
  size: z.coerce.number().pipe(z.literal(sizes)).catch(sizes[0]),
  /** The key of the row before the page, beyond the numbered pages. */
  after: z.string().max(100).optional().catch(undefined),
});

/** Those of a list with the usual numbers of rows. */
export const pageFields = pageFieldsOf(USUAL_SIZES);

/** The page that a query chooses. */
export interface PageChoice {
  page: number;
  size: number;
  after?: string | undefined;
}

/** The rows of a chosen page. */
export function partOf({ page, size, after }: PageChoice): ListPart {
  return after ? { skip: 0, limit: size, after } : { skip: (page - 1) * size, limit: size };
}

/** The fields of a query without those of the page. */
export type Filters = Readonly<Record<string, string | undefined>>;

/** A list and its page, for {@link pages}. */
export interface PagedList {
  path: string;
  /** What the links of the pages keep. */
  filters: Filters;
  chosen: PageChoice;
  /** Those of {@link pageFieldsOf}, if they are not the usual ones. */
  sizes?: PageSizes;
  /** The rows on this page. */
  shown: number;
  total: ListTotal | undefined;
  /** The key of the last row if there are others after it; not needed where every page has a number. */
  next?: string | undefined;
}

/** The text of a list or of a page without rows. */
export const emptyText = ({ page, after }: PageChoice, text: string) =>
  page > 1 || after ? 'There is nothing on this page.' : text;

/**
 * What stands below a list: which rows of how many are shown, the links to other pages, a field that leads
 * to a page by its number, and the choice of the rows on a page.
 */
export function pages(list: PagedList) {
  const { total, chosen, shown, sizes = USUAL_SIZES } = list;
  const isSmall = total !== undefined && total.count <= sizes[0];
  if (isSmall && chosen.page === 1) {
    return total.count > 0 && h('p', { class: 'pages hint' }, rangeText(list));
  }
  return h(
    'nav',
    { class: 'pages', 'aria-label': 'Pages' },
    hint(shown > 0 && rangeText(list)),
    h('ul', null, total === undefined ? keyLinks(list) : numberLinks(list, lastOf(total, chosen))),
    total !== undefined && jumpForm(list, lastOf(total, chosen)),
    sizeLinks(list),
  );
}

function rangeText({ chosen: { page, size }, shown, total }: PagedList): string {
  if (total === undefined) return `${shown} rows beyond the first ${numberText(MOST_NUMBERED)}`;
  const first = (page - 1) * size + 1;
  const of = `${total.isMore ? 'more than ' : ''}${numberText(total.count)}`;
  return `${numberText(first)}–${numberText(first + shown - 1)} of ${of}`;
}

const lastOf = ({ count }: ListTotal, { size }: PageChoice) => Math.ceil(count / size);

/** The path of a page, without what is usual. */
function pagePath(
  { path, filters, sizes = USUAL_SIZES }: PagedList,
  { page, size, after }: PageChoice,
): string {
  const sizeText = size === sizes[0] ? undefined : String(size);
  return pathWith(path, { ...filters, page: page > 1 ? String(page) : '', size: sizeText, after });
}

function keyLinks(list: PagedList) {
  const { chosen, next } = list;
  return [
    item(link(pagePath(list, { ...chosen, page: 1, after: undefined }), 'First page')),
    next !== undefined && item(nextLink(list, { ...chosen, page: 1, after: next })),
  ];
}

const item = (content: ReturnType<typeof link>) => h('li', null, content);
const nextLink = (list: PagedList, chosen: PageChoice) =>
  link(pagePath(list, chosen), 'Next', { rel: 'next' });

/** The first and the last page, and those beside this one; after the last one come pages by key. */
function numberLinks(list: PagedList, last: number) {
  const { chosen, total, next } = list;
  const { page, size } = chosen;
  const shown = [1, page - 1, page, page + 1, last].filter((one) => one >= 1 && one <= last);
  const numbers = [...new Set(shown)].toSorted((one, two) => one - two);
  const hasKeys = page === last && total?.isMore === true && next !== undefined;
  return [
    page > 1 &&
      item(
        link(pagePath(list, { page: Math.min(page - 1, last), size }), 'Previous', { rel: 'prev' }),
      ),
    numbers.map((number, index) => [
      number - (numbers[index - 1] ?? number) > 1 && h('li', { 'aria-hidden': 'true' }, '…'),
      item(
        link(pagePath(list, { page: number, size }), numberText(number), {
          'aria-label': `Page ${numberText(number)}`,
          ...(number === page && { 'aria-current': 'page' }),
        }),
      ),
    ]),
    page < last && item(nextLink(list, { page: page + 1, size })),
    hasKeys && item(nextLink(list, { page: 1, size, after: next })),
  ];
}

/** Fewer pages are all linked. */
const PAGES_WITHOUT_JUMP = 3;

function jumpForm({ path, filters, chosen }: PagedList, last: number) {
  if (last <= PAGES_WITHOUT_JUMP) return null;
  const kept = { ...filters, size: String(chosen.size) };
  return form(
    path,
    { method: 'get', 'aria-label': 'Go to a page' },
    Object.entries(kept).map(([name, value]) => value && hidden(name, value)),
    h('input', {
      type: 'number',
      name: 'page',
      min: 1,
      max: last,
      required: true,
      placeholder: 'Page',
      'aria-label': `Page from 1 to ${last}`,
    }),
    submit('Go', 'small'),
  );
}

function sizeLinks(list: PagedList) {
  return h(
    'p',
    { class: 'sizes' },
    'Rows: ',
    (list.sizes ?? USUAL_SIZES).map((size) => [
      ' ',
      link(pagePath(list, { page: 1, size }), size, {
        'aria-label': `${size} rows on a page`,
        ...(size === list.chosen.size && { 'aria-current': 'page' }),
      }),
    ]),
  );
}

/** The list that {@link chips} filter. */
export interface FilteredList {
  path: string;
  /** The fields of the query that the links keep. */
  filters: Readonly<Record<string, string | undefined>>;
  /** The field that they choose. */
  name: string;
  chosen: string | undefined;
  /** The rows of each filter, where they are counted. */
  counts?: Readonly<Record<string, number>> | undefined;
}

/**
 * Quick filters above a list: a link for each, the chosen one marked.
 *
 * @param label what they choose
 * @param titles by the values of the field; '' is the whole list
 */
export function chips(
  label: string,
  { path, filters, name, chosen = '', counts = {} }: FilteredList,
  titles: Readonly<Record<string, string>>,
) {
  return h(
    'nav',
    { class: 'chips', 'aria-label': label },
    Object.entries(titles).map(([value, title]) => [
      link(
        pathWith(path, { ...filters, [name]: value }),
        title + (counts[value] === undefined ? '' : ` ${numberText(counts[value])}`),
        value === chosen ? { 'aria-current': 'page' } : {},
      ),
      ' ',
    ]),
  );
}

/** The pages of one subject: a link to each, the current one marked. @param titles of the pages by their paths */
export function tabs(label: string, titles: Readonly<Record<string, string>>, current: string) {
  return h(
    'nav',
    { class: 'tabs', 'aria-label': label },
    Object.entries(titles).map(([path, title]) =>
      link(path, title, path === current ? { 'aria-current': 'page' } : {}),
    ),
  );
}
