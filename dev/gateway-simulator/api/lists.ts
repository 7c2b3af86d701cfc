import type { RouterContext } from '@koa/router';
import type { Middleware } from 'koa';
import { z } from 'zod';
import { badRequest } from '../state/entities.ts';
import type { SimulatedGateway } from '../gateway.ts';
import { switchOf } from '../switches.ts';

/** The query of a list: 10 items by default, 100 at most; times in Unix seconds. */
export const page = z.object({
  count: z.coerce.number().int().min(1).max(100).default(10),
  skip: z.coerce.number().int().min(0).default(0),
  from: z.coerce.number().int().min(0).default(0),
  to: z.coerce.number().int().min(0).default(Infinity),
});

type Page = z.output<typeof page>;
/** All of a list that has no pages. */
export const WHOLE_LIST: Page = { ...page.parse({}), count: Infinity };

const PAGE = ['count', 'skip', 'from', 'to'];
/** The query parameters that the documents name. The other routes have none, also transfers of a payment. */
const KNOWN_QUERY: Readonly<Record<string, readonly string[]>> = {
  'GET /v1/payments/qr_codes': [...PAGE, 'customer_id', 'payment_id'],
  'GET /v1/payments/qr_codes/:id/payments': PAGE,
  'GET /v1/payments/:id/refunds': PAGE,
  'GET /v1/disputes': [...PAGE, 'expand[]'],
  'GET /v1/transfers': [...PAGE, 'expand[]', 'recipient_settlement_id'],
};

/** @throws RazorpayError 400 for unknown query parameters, if the switch says so */
export function refuseUnknownQuery(gateway: SimulatedGateway): Middleware {
  return async (ctx, next) => {
    // The ids in a path are subjects of switches; its other segments are no subjects.
    const isRefused = switchOf(gateway, 'unknownQuery', ctx.path.split('/')) === 'refused';
    const { matched } = ctx as RouterContext;
    // The first one answers; /v1/payments/:id matches the path of the list of QR codes, too.
    const route = matched?.find(({ methods }) => methods.length > 0)?.path;
    const known = KNOWN_QUERY[`${ctx.method} ${String(route)}`] ?? [];
    const unknown = Object.keys(ctx.query).filter((name) => !known.includes(name));
    if (isRefused && unknown.length > 0) {
      throw badRequest(`${unknown.join(', ')} is/are not required and should not be sent`);
    }
    await next();
  };
}

/** Times of entities are whole seconds: at least one second, and less than two. */
const LAG_SECONDS = 2;

interface Listed<Row> {
  /** The subjects whose switches apply to a row. */
  subjects: (row: Row) => readonly string[];
  show: (row: Row) => object;
  page: Page;
}

/** The form of every list: newest first, of rows that are given oldest first. */
export function listOf<Row extends { entity: { created_at: number } }>(
  gateway: SimulatedGateway,
  oldestFirst: readonly Row[],
  { subjects, show, page: { count, skip, from, to } }: Listed<Row>,
) {
  const isLate = (row: Row) =>
    gateway.now() - row.entity.created_at < LAG_SECONDS &&
    switchOf(gateway, 'listsLag', subjects(row));
  const items = oldestFirst
    .filter((row) => row.entity.created_at >= from && row.entity.created_at <= to && !isLate(row))
    .toReversed()
    .slice(skip, skip + count)
    .map(show);
  return { entity: 'collection', count: items.length, items };
}
