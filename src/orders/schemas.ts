import { z } from 'zod';
import { ORDER_STATUSES, paiseFromRupees } from '../domain/index.ts';
import { email, integerInQuery, momentInQuery, text } from '../http/fields.ts';

const dateTime = z.iso.datetime();

/** The Order object: one shape in the API and in webhooks, so a merchant writes one parser. */
export const orderSchema = z
  .object({
    order_number: z.string().meta({ example: 'ORD01KAHV3Z8Q4N2M6P7R9T1W3X5Y' }),
    merchant_order_id: z.string().optional(),
    amount: z.number().meta({ description: 'Rupees, at most two decimals', example: 499.5 }),
    currency: z.literal('INR'),
    status: z.enum(ORDER_STATUSES),
    dispute_count: z.int().min(0),
    buyer: z.object({ email: z.string(), name: z.string(), phone: z.string() }),
    description: z.string(),
    payment_url: z.string().meta({ description: "The buyer's payment page" }),
    payment_link_expires_at: dateTime,
    completes_at: dateTime.nullable().meta({ description: 'Set while the order is DELIVERED' }),
    dispute: z
      .object({
        reason: z.string().meta({ description: "The buyer's words" }),
        raised_at: dateTime,
        respond_by: dateTime.nullable().meta({ description: 'null once the dispute has ended' }),
        evidence: z.string().nullable(),
        resolution: z
          .string()
          .nullable()
          .meta({ description: "The merchant's words, if the merchant resolved it" }),
        decision: z
          .object({ for: z.enum(['merchant', 'buyer']), reason: z.string(), decided_at: dateTime })
          .nullable()
          .meta({ description: "The operator's decision, if it was decided under review" }),
        ended_at: dateTime.nullable(),
      })
      .nullable()
      .meta({
        description: 'The latest dispute, also after it ended; null if there never was one',
      }),
    refund: z
      .object({ amount: z.number(), reason: z.string(), processed_at: dateTime.nullable() })
      .nullable(),
    payment: z
      .object({
        gateway_payment_id: z.string(),
        utr: z
          .string()
          .nullable()
          .meta({ description: 'By what banks and UPI apps name it; null if not known' }),
        paid_at: dateTime,
      })
      .nullable()
      .meta({ description: 'The payment that made the order PAID' }),
    cancellation: z
      .object({
        by: z.enum(['merchant', 'expiry']),
        reason: z.string().nullable(),
        cancelled_at: dateTime,
      })
      .nullable(),
    created_at: dateTime,
    updated_at: dateTime,
  })
  .meta({ id: 'Order' });
export type Order = z.infer<typeof orderSchema>;

const optionalText = (maxLength: number) =>
  text({ error: `must be at most ${maxLength} characters`, maxLength }).nullish();
const requiredText = (minLength: number, maxLength: number) =>
  text({
    error: `must be ${minLength} to ${maxLength} characters and not blank`,
    minLength,
    maxLength,
    notBlank: true,
  });

const TOO_LITTLE = 'must be greater than or equal to 5.0';
const TOO_MUCH = 'must be less than or equal to 10000.0';
/** The words for what is no finite number: `1e400` is JSON, and infinite for every parser. */
function notAnAmount(input: unknown): string {
  if (input === Infinity) return TOO_MUCH;
  const isGiven = input !== undefined && input !== null && typeof input !== 'number';
  return isGiven ? 'must be a number' : TOO_LITTLE;
}

const amount = z
  .number({ error: ({ input }) => notAnAmount(input) })
  .min(5, TOO_LITTLE)
  .max(10_000, TOO_MUCH)
  .refine((rupees) => paiseFromRupees(rupees) !== undefined, 'must have at most two decimals');

/** Body of POST /orders. Unknown fields are ignored. */
export const createOrderSchema = z
  .object({
    // No `multipleOf`: validators divide in floating point, and would refuse 5.1, 8.29 and 19.99.
    amount: amount.meta({
      description: 'Rupees, with at most two decimals: 499, 499.5 and 499.50, but not 499.505.',
      example: 499.5,
    }),
    buyerEmail: email({ error: 'must be a valid email address' }).meta({
      description: 'A valid email address.',
      example: 'asha@example.com',
    }),
    buyerPhone: z
      .string({ error: 'must match "^\\+91[0-9]{10}$"' })
      .regex(/^\+91[0-9]{10}$/, { error: 'must match "^\\+91[0-9]{10}$"' })
      .meta({
        description: 'Country code +91, then exactly 10 digits, with nothing between them.',
        example: '+919876543210',
      }),
    // The specification names no length, so only the body's own limit bounds it.
    description: text({ error: 'must not be blank', notBlank: true }).meta({
      description: 'What is paid for. White space and invisible characters alone are blank.',
      example: 'Blue kurta, size M',
    }),
    buyerName: optionalText(100).meta({
      description: "The buyer's full name.",
      example: 'Asha Rao',
    }),
    merchantOrderId: z
      .string({ error: 'must be 1 to 64 of A-Z a-z 0-9 . _ -' })
      .regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 . _ -')
      .nullish()
      .meta({
        description: 'Your own id of the order: 1 to 64 of A-Z a-z 0-9 . _ -; need not be unique.',
        example: 'SHOP-1042',
      }),
    currency: z.literal('INR', { error: 'must be "INR"' }).nullish(),
  })
  .meta({ id: 'CreateOrder' });
export type CreateOrder = z.infer<typeof createOrderSchema>;

export const deliverSchema = z.object({ trackingId: optionalText(200), note: optionalText(1000) });
export const cancelSchema = z.object({ reason: optionalText(1000) });
export const refundSchema = z.object({ reason: requiredText(1, 1000) });
export const evidenceSchema = z.object({ text: requiredText(1, 5000) });
export const resolveSchema = z.object({ resolution: requiredText(1, 1000) });
/** Nothing to say: an empty object, or no body at all. */
export const acceptSchema = z.object({});
export const disputeSchema = z.object({ reason: requiredText(10, 2000) });
/** What an operator says to both sides of a dispute. */
export const decisionSchema = z.object({ reason: requiredText(1, 2000) });
export const advanceSchema = z.object({
  seconds: z
    .int({ error: 'must be a whole number from 1 to 2592000' })
    .min(1, 'must be a whole number from 1 to 2592000')
    .max(2_592_000, 'must be a whole number from 1 to 2592000'),
});

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
  schema.meta({ description: `Another spelling of ${name}, which counts if both are given` });

/** Query of GET /orders. The filters are taken as requests spell them and as answers do. */
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
  status: z.enum(ORDER_STATUSES, { error: 'must be an order status' }).optional(),
  ...filters,
  merchant_order_id: spelledAs(filters.merchantOrderId, 'merchantOrderId'),
  buyer_email: spelledAs(filters.buyerEmail, 'buyerEmail'),
  created_from: spelledAs(filters.createdFrom, 'createdFrom'),
  created_to: spelledAs(filters.createdTo, 'createdTo'),
});

/** The filter of a query, whichever way it is spelled. */
export function filterOf(query: z.output<typeof listOrdersSchema>) {
  return {
    status: query.status,
    merchantOrderId: query.merchantOrderId ?? query.merchant_order_id,
    buyerEmail: query.buyerEmail ?? query.buyer_email,
    createdFrom: query.createdFrom ?? query.created_from,
    createdTo: query.createdTo ?? query.created_to,
  };
}
