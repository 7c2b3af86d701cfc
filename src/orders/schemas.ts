import { z } from 'zod';
import { ORDER_STATUSES, paiseFromRupees } from '../domain/index.ts';
import { email, text } from '../http/input/fields.ts';

const dateTime = z.iso.datetime();

/** The status of an order. New ones may be added with a new version of the API. */
export const orderStatusSchema = z
  .enum(ORDER_STATUSES, { error: 'must be an order status' })
  .meta({ id: 'OrderStatus' });

const buyerSchema = z.object({ email: z.string(), name: z.string(), phone: z.string() }).meta({
  id: 'Buyer',
  description:
    "Empty texts once the buyer's data was erased, as are all texts about the order then",
});

const disputeObjectSchema = z
  .object({
    reason: z.string().meta({ description: "The buyer's text" }),
    raised_at: dateTime,
    respond_by: dateTime.nullable().meta({ description: 'null once the dispute has ended' }),
    evidence: z.string().nullable(),
    resolution: z
      .string()
      .nullable()
      .meta({ description: "The merchant's text, if the merchant resolved it" }),
    decision: z
      .object({ for: z.enum(['merchant', 'buyer']), reason: z.string(), decided_at: dateTime })
      .meta({ id: 'DisputeDecision' })
      .nullable()
      .meta({ description: "The operator's decision, if an operator decided it" }),
    ended_at: dateTime.nullable(),
  })
  .meta({ id: 'Dispute' });

const REFUND_REASONS =
  'Why: `merchant_refund`, `dispute_not_resolved_in_time`, `dispute_accepted`, `dispute_decided_for_buyer`, ' +
  '`settled_by_operator`; of a CANCELLED order, whose payment came too late or was wrong, `late_payment`, ' +
  '`wrong_amount` or `already_paid`. More may be added.';

const refundObjectSchema = z
  .object({
    amount: z.number().meta({ description: 'Rupees' }),
    reason: z.string().meta({ description: REFUND_REASONS, example: 'merchant_refund' }),
    processed_at: dateTime.nullable().meta({ description: 'null while the refund is under way' }),
  })
  .meta({ id: 'Refund' });

const paymentSchema = z
  .object({
    gateway_payment_id: z.string(),
    utr: z.string().nullable().meta({
      description: 'The reference of the payment at banks and UPI apps; null if not known',
    }),
    paid_at: dateTime,
    reversed_amount: z.number().meta({
      description:
        'In rupees: what was refunded at the gateway itself, and lost chargebacks; 0 if none',
    }),
  })
  .meta({ id: 'Payment' });

const cancellationSchema = z
  .object({
    by: z.enum(['merchant', 'expiry']),
    reason: z.string().nullable(),
    cancelled_at: dateTime,
  })
  .meta({ id: 'Cancellation' });

/** The Order object. The API and webhooks share it, so that a merchant writes one parser. */
export const orderSchema = z
  .object({
    order_number: z.string().meta({ example: 'ORD01KAHV3Z8Q4N2M6P7R9T1W3X5Y' }),
    merchant_order_id: z.string().optional(),
    amount: z.number().meta({ description: 'Rupees, at most two decimals', example: 499.5 }),
    currency: z.literal('INR'),
    status: orderStatusSchema,
    dispute_count: z.int().min(0),
    buyer: buyerSchema,
    description: z.string(),
    payment_url: z.string().meta({ description: "The buyer's payment page" }),
    return_url: z.string().optional().meta({
      description: "Where the buyer's page leads back to; absent if it was not given",
    }),
    payment_link_expires_at: dateTime,
    completes_at: dateTime.nullable().meta({ description: 'Set while the order is DELIVERED' }),
    dispute: disputeObjectSchema.nullable().meta({
      description: 'The latest dispute, also after it ended; null if there never was one',
    }),
    refund: refundObjectSchema.nullable().meta({
      description: 'Of an order that is CANCELLED: the refund of a payment that it could not take',
    }),
    payment: paymentSchema.nullable().meta({
      description: 'The payment that made the order PAID',
    }),
    cancellation: cancellationSchema.nullable(),
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

const AMOUNT_TOO_SMALL = 'must be greater than or equal to 5.0';
const AMOUNT_TOO_LARGE = 'must be less than or equal to 10000.0';
/** The error for a value that is no finite number. JSON allows `1e400`, which parses as Infinity. */
function amountError(input: unknown): string {
  if (input === Infinity) return AMOUNT_TOO_LARGE;
  const isGiven = input !== undefined && input !== null && typeof input !== 'number';
  return isGiven ? 'must be a number' : AMOUNT_TOO_SMALL;
}

const amount = z
  .number({ error: ({ input }) => amountError(input) })
  .min(5, AMOUNT_TOO_SMALL)
  .max(10_000, AMOUNT_TOO_LARGE)
  .refine((rupees) => paiseFromRupees(rupees) !== undefined, 'must have at most two decimals');

const NO_RETURN_URL =
  'must be an http or https URL of at most 2048 visible ASCII characters, without a user name or password';

/** A link on a page. The service never requests it, so any host is allowed. */
const returnUrl = z
  .string({ error: NO_RETURN_URL })
  .max(2048, NO_RETURN_URL)
  .regex(/^https?:\/\/[!-~]+$/, NO_RETURN_URL)
  .refine((given) => URL.canParse(given) && !/^https?:\/\/[^/?#]*[@\\]/.test(given), NO_RETURN_URL);

/** Unknown fields are ignored. */
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
    // The specification names no length, so only the limit of the body applies.
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
    returnUrl: returnUrl.nullish().meta({
      description:
        "Your page to which the buyer's pages link; `order_number` and `status` are added to its query. " +
        'Anyone can write such a query: read the order before you believe it. `https`, in the sandbox also ' +
        '`http`; if you have a list of approved domains, its origin must be on it.',
      example: 'https://shop.example.com/orders/1042/thanks',
    }),
    currency: z.literal('INR', { error: 'must be "INR"' }).nullish(),
  })
  .meta({ id: 'CreateOrder' });
export type CreateOrder = z.infer<typeof createOrderSchema>;

export const deliverSchema = z.object({ trackingId: optionalText(200), note: optionalText(1000) });
export const cancelSchema = z.object({ reason: optionalText(1000) });
/** Also of an operator's refund. */
export const refundSchema = z.object({ reason: requiredText(1, 1000) });
export const evidenceSchema = z.object({ text: requiredText(1, 5000) });
export const resolveSchema = z.object({ resolution: requiredText(1, 1000) });
export const acceptSchema = z.object({});
/** A buyer's dispute, raised by the buyer, an operator or a test helper. */
export const disputeSchema = z.object({ reason: requiredText(10, 2000) });
/** An operator's decision. Merchant and buyer can read the reason. */
export const decisionSchema = z.object({ reason: requiredText(1, 2000) });
/** The test helper's decision; it writes the reason itself. */
export const decideSchema = z.object({
  for: z.enum(['merchant', 'buyer'], { error: 'must be merchant or buyer' }),
});
export const chargebackSchema = z.object({
  outcome: z.enum(['open', 'won', 'lost'], { error: 'must be open, won or lost' }),
});
const SECONDS = 'must be a whole number from 1 to 2592000';
/** 1 second to 30 days. */
export const advanceSchema = z.object({
  seconds: z.int({ error: SECONDS }).min(1, SECONDS).max(2_592_000, SECONDS),
});
