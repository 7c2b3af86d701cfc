import { h } from 'preact';
import { numberText } from '../../pages/format.ts';
import { pathWith } from './table.ts';
import { link } from './url.ts';

/** A quick filter of a list. */
export interface Chip {
  /** Of the field in the query; empty for the whole list. */
  value: string;
  title: string;
  /** The rows that it shows, where they are counted. */
  count?: number | undefined;
}

/** The list that {@link chips} filter. */
export interface FilteredList {
  path: string;
  /** The fields of the query that the links keep. */
  filters: Readonly<Record<string, string | undefined>>;
  /** The field that they choose. */
  name: string;
  chosen: string | undefined;
}

/** Quick filters above a list: a link for each, the chosen one marked. @param label what they choose */
export function chips(
  label: string,
  { path, filters, name, chosen = '' }: FilteredList,
  choices: readonly Chip[],
) {
  return h(
    'nav',
    { class: 'chips', 'aria-label': label },
    choices.map(({ value, title, count }) => [
      link(
        pathWith(path, { ...filters, [name]: value }),
        count === undefined ? title : `${title} ${numberText(count)}`,
        value === chosen ? { 'aria-current': 'page' } : {},
      ),
      ' ',
    ]),
  );
}

/** The pages of one subject: a link to each, the current one marked. @param pages titles by paths */
export function tabs(label: string, pages: Readonly<Record<string, string>>, current: string) {
  return h(
    'nav',
    { class: 'tabs', 'aria-label': label },
    Object.entries(pages).map(([path, title]) =>
      link(path, title, path === current ? { 'aria-current': 'page' } : {}),
    ),
  );
}
