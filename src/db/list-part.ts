/**
 * The rows of a list up to which it is counted and has page numbers, where no counts are stored: to number
 * more of them, each page would read more of them. Beyond, a list is read by keys.
 */
export const MOST_NUMBERED = 1000;

/** Which rows of a list to read. */
export interface ListPart {
  /** The rows before the part; 0 with `after`. */
  skip: number;
  limit: number;
  /** The key of the row before the part, in a list that is longer than {@link MOST_NUMBERED}. */
  after?: string | undefined;
}

/** How many rows a list has. */
export interface ListTotal {
  count: number;
  /** There are more than `count`, but they are not counted. */
  isMore: boolean;
}

/** A part of a list. */
export interface ListPage<Row> {
  rows: Row[];
  /** Undefined if the part was read by its key. */
  total: ListTotal | undefined;
  /** The list has rows after the part. */
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
