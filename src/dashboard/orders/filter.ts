import { z } from 'zod';
import type { OrderStatus } from '../../domain/index.ts';
import { ORDER_STATUSES } from '../../domain/index.ts';
import type { MerchantSearch } from '../../orders/public.ts';
import { ORDER_SORTS } from '../../orders/public.ts';
import type { FormState } from '../view/fields.ts';
import { pageFields } from '../view/pages.ts';
import { ORDER_STATUS_LOOKS } from '../view/parts.ts';

/** The query of the list of orders and of its CSV file, as the form sends it. */
export const filterQuery = z.object({
  q: z.string().optional(),
  status: z.string().optional(),
  /** Days in India, both inclusive. */
  from: z.string().optional(),
  to: z.string().optional(),
  sort: z.enum(ORDER_SORTS).catch(ORDER_SORTS[0]),
  ...pageFields,
});
/** See {@link filterQuery}. */
export type FilterQuery = z.output<typeof filterQuery>;
/** Its fields that choose orders. */
export type OrderFilters = Pick<FilterQuery, 'q' | 'status' | 'from' | 'to'>;

/** The orders of a status, as a merchant calls them: a paid order is one to deliver. */
export const statusTitle = (status: OrderStatus): string =>
  status === 'PAID' ? 'To deliver' : ORDER_STATUS_LOOKS[status].text;

const DAY_MS = 24 * 3_600_000;
const WRONG_DAY = 'must be a day such as 2026-11-22';

/** What a query looks for, and what is wrong with it. */
export interface Filter {
  search: MerchantSearch;
  state: FormState;
  isValid: boolean;
}

/** Reads the filter of a query. An invalid field is named and left out. */
export function filterOf({ q, status, from, to }: OrderFilters): Filter {
  const isStatus = (text: string | undefined): text is OrderStatus =>
    ORDER_STATUSES.some((one) => one === text);
  const createdFrom = startOfDay(from);
  const lastDay = startOfDay(to);
  const violations = {
    ...(status && !isStatus(status) && { status: 'must be an order status' }),
    ...(createdFrom === null && { from: WRONG_DAY }),
    ...(lastDay === null && { to: WRONG_DAY }),
  };
  const createdTo = lastDay && new Date(lastDay.getTime() + DAY_MS);
  return {
    search: {
      text: q,
      status: isStatus(status) ? status : undefined,
      createdFrom: createdFrom ?? undefined,
      createdTo: createdTo ?? undefined,
    },
    state: { values: { q, status, from, to }, violations },
    isValid: Object.keys(violations).length === 0,
  };
}

/** The beginning of a day in India; null if the text is no day, undefined if it is empty. */
function startOfDay(text: string | undefined): Date | null | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return null;
  const at = new Date(`${text}T00:00:00+05:30`);
  // No order is older than 1970, and PostgreSQL does not read the year 0.
  return at.getTime() >= 0 ? at : null;
}
