import { z } from 'zod';
import { cursorInQuery } from '../http/input/cursor.ts';
import { email, integerInQuery, momentInQuery, text } from '../http/input/fields.ts';
import { orderStatusSchema } from './schemas.ts';

const MOMENT = { error: 'must be an ISO-8601 time such as 2026-11-20T09:30:00Z' };
const filters = {
  merchantOrderId: text({ error: 'must be at most 64 characters', maxLength: 64 })
    .optional()
    .meta({ description: "The merchant's own order id", example: 'SHOP-1042' }),
  buyerEmail: email({ error: 'must be a valid email address; write a + as %2B' })
    .optional()
    .meta({ description: "The buyer's email address, in any case", example: 'asha@example.com' }),
  createdFrom: momentInQuery(MOMENT).optional().meta({
    description: 'Orders created at this moment or later (inclusive)',
    example: '2026-11-20T00:00:00Z',
  }),
  createdTo: momentInQuery(MOMENT).optional().meta({
    description: 'Orders created before this moment (exclusive)',
    example: '2026-11-21T00:00:00+05:30',
  }),
};
const spelledAs = <Schema extends z.ZodType>(schema: Schema, name: keyof typeof filters) =>
  schema.meta({ description: `Another spelling of ${name}; if both are given, ${name} is used` });

/** Query of GET /orders. Filters may have the spelling of request bodies or of responses. */
export const listOrdersSchema = z.object({
  page: integerInQuery({
    error: 'must be a whole number from 0',
    minimum: 0,
    maximum: 1e9,
    tooLarge: 'must be less than or equal to 1000000000',
    fallback: 0,
  }).meta({ description: 'Counted from 0' }),
  size: integerInQuery({
    error: 'must be a whole number from 1 to 100',
    minimum: 1,
    maximum: 100,
    fallback: 20,
  }).meta({ description: 'Orders on a page' }),
  after: cursorInQuery(z.tuple([z.string().regex(/^ORD[0-9A-Z]{26}$/)]))
    .optional()
    .meta({ description: 'The `next` of an earlier response, in the place of `page`' }),
  status: orderStatusSchema.optional(),
  ...filters,
  merchant_order_id: spelledAs(filters.merchantOrderId, 'merchantOrderId'),
  buyer_email: spelledAs(filters.buyerEmail, 'buyerEmail'),
  created_from: spelledAs(filters.createdFrom, 'createdFrom'),
  created_to: spelledAs(filters.createdTo, 'createdTo'),
});

/** Accepts either spelling of the filters' names. */
export function filterOf(query: z.output<typeof listOrdersSchema>) {
  return {
    status: query.status,
    merchantOrderId: query.merchantOrderId ?? query.merchant_order_id,
    buyerEmail: query.buyerEmail ?? query.buyer_email,
    createdFrom: query.createdFrom ?? query.created_from,
    createdTo: query.createdTo ?? query.created_to,
  };
}
