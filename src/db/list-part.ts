/**
 * Lists without stored counts are counted, and have page numbers, up to this many rows: each page reads all of them.
 * Longer lists are read by keys.
 */
export const MOST_NUMBERED = 1000;

export interface ListPart {
  /** The number of rows before the part; 0 with `after`. */
  skip: number;
  limit: number;
  /** The key of the row before the part, in a list that is longer than {@link MOST_NUMBERED}. */
  after?: string | undefined;
}

export interface ListTotal {
  count: number;
  /** True if there are more than `count`, which are not counted. */
  isMore: boolean;
}

export interface ListPage<Row> {
  rows: Row[];
  /** Undefined if the part was read by its key. */
  total: ListTotal | undefined;
  /** True if the list has rows after the part. */
  hasMore: boolean;
}

/** The rows, or their keys, to read for {@link pageOf}. */
export function rowsToRead({ limit, after }: ListPart): number {
  return after === undefined ? MOST_NUMBERED + 1 : limit + 1;
}

/** Takes a part of the first {@link rowsToRead} rows of a list, those after its key if it has one. */
export function pageOf<Row>(
  found: readonly Row[],
  { skip, limit, after }: ListPart,
): ListPage<Row> {
  const rows = found.slice(skip, skip + limit);
  const hasMore = found.length > skip + limit;
  if (after !== undefined) return { rows, total: undefined, hasMore };
  const count = Math.min(found.length, MOST_NUMBERED);
  return { rows, total: { count, isMore: found.length > MOST_NUMBERED }, hasMore };
}
