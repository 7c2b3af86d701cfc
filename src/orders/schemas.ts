import { z } from 'zod';
import { ORDER_STATUSES, paiseFromRupees } from '../domain/index.ts';
import { email, text } from '../http/fields.ts';

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
        reason: z.string(),
        raised_at: dateTime.nullable(),
        respond_by: dateTime.nullable(),
        evidence: z.string().nullable(),
      })
      .nullable(),
    refund: z
      .object({ amount: z.number(), reason: z.string(), processed_at: dateTime.nullable() })
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
/** `1e400` is JSON, and infinite for every parser: an amount that is too high, and no number. */
const amount = z
  .number({ error: ({ input }) => (input === Infinity ? TOO_MUCH : TOO_LITTLE) })
  .min(5, TOO_LITTLE)
  .max(10_000, TOO_MUCH)
  .refine((rupees) => paiseFromRupees(rupees) !== undefined, 'must have at most two decimals');

/** Body of POST /orders. Unknown fields are ignored. */
export const createOrderSchema = z
  .object({
    amount: amount.meta({ example: 499.5, multipleOf: 0.01 }),
    buyerEmail: email({ error: 'must be a valid email address' }).meta({
      example: 'asha@example.com',
    }),
    buyerPhone: z
      .string({ error: 'must match "^\\+91[0-9]{10}$"' })
      .regex(/^\+91[0-9]{10}$/, { error: 'must match "^\\+91[0-9]{10}$"' })
      .meta({ example: '+919876543210' }),
    // The specification names no length, so only the body's own limit bounds it.
    description: text({ error: 'must not be blank', notBlank: true }).meta({
      example: 'Blue kurta, size M',
    }),
    buyerName: optionalText(100),
    merchantOrderId: z
      .string({ error: 'must be 1 to 64 of A-Z a-z 0-9 . _ -' })
      .regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 . _ -')
      .nullish(),
    currency: z.literal('INR', { error: 'must be "INR"' }).nullish(),
  })
  .meta({ id: 'CreateOrder' });
export type CreateOrder = z.infer<typeof createOrderSchema>;

export const deliverSchema = z.object({ trackingId: optionalText(200), note: optionalText(1000) });
export const cancelSchema = z.object({ reason: optionalText(1000) });
export const evidenceSchema = z.object({ text: requiredText(1, 5000) });
export const resolveSchema = z.object({ resolution: requiredText(1, 1000) });
/** Nothing to say: an empty object, or no body at all. */
export const acceptSchema = z.object({});
export const disputeSchema = z.object({ reason: requiredText(10, 2000) });
export const advanceSchema = z.object({
  seconds: z
    .int({ error: 'must be a whole number from 1 to 2592000' })
    .min(1, 'must be a whole number from 1 to 2592000')
    .max(2_592_000, 'must be a whole number from 1 to 2592000'),
});
