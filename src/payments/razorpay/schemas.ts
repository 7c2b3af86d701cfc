import { z } from 'zod';

/**
 * What we read of Razorpay's answers; everything else in them is dropped. The shapes are those of
 * github.com/razorpay/markdown-docs (api/qr-codes, api/payments, api/refunds, api/payments/route,
 * webhooks), commit ab3bda5 of April 2026.
 */

/** Empty notes come as `[]`, because the other side is PHP. */
const notes = z
  .union([z.record(z.string(), z.unknown()), z.array(z.unknown()).transform(() => ({}))])
  .optional()
  .transform((given): Record<string, unknown> => given ?? {});

const paise = z.number().int().nonnegative();
/** A time in Unix seconds; some webhook samples show it as text. */
const unixSeconds = z.coerce.number().int().nonnegative();

export const qrCodeSchema = z.object({
  id: z.string().min(1),
  entity: z.literal('qr_code'),
  status: z.enum(['active', 'closed']),
  image_url: z.string(),
  /** Only where Razorpay has switched the feature on: api/qr-codes/image-content. */
  image_content: z.string().optional(),
  payment_amount: paise.nullish(),
  close_by: unixSeconds.nullish(),
  notes,
});
export type QrCode = z.infer<typeof qrCodeSchema>;

export const paymentSchema = z.object({
  id: z.string().min(1),
  entity: z.literal('payment'),
  status: z.enum(['created', 'authorized', 'captured', 'refunded', 'failed']),
  amount: paise,
  currency: z.string(),
  amount_refunded: paise.nullish(),
  error_code: z.string().nullish(),
  error_description: z.string().nullish(),
  acquirer_data: z.object({ rrn: z.string().nullish() }).nullish(),
  notes,
  created_at: unixSeconds,
});
export type Payment = z.infer<typeof paymentSchema>;

export const refundSchema = z.object({
  id: z.string().min(1),
  entity: z.literal('refund'),
  payment_id: z.string(),
  amount: paise,
  status: z.enum(['pending', 'processed', 'failed']),
  notes,
  created_at: unixSeconds,
});
export type Refund = z.infer<typeof refundSchema>;

export const disputeSchema = z.object({
  id: z.string().min(1),
  entity: z.literal('dispute'),
  payment_id: z.string(),
  amount: paise,
  /** 0 until it is lost. */
  amount_deducted: paise.nullish(),
  status: z.enum(['open', 'under_review', 'won', 'lost', 'closed']),
});
export type Dispute = z.infer<typeof disputeSchema>;

export const transferSchema = z.object({
  id: z.string().min(1),
  entity: z.literal('transfer'),
  status: z.enum(['created', 'pending', 'processed', 'failed', 'reversed', 'partially_reversed']),
  amount: paise,
  amount_reversed: paise.nullish(),
  on_hold: z.boolean(),
  notes,
});
export type Transfer = z.infer<typeof transferSchema>;

export const accountSchema = z.object({
  id: z.string().startsWith('acc_'),
  legal_business_name: z.string(),
});

/** `{entity: 'collection', count, items}`. */
export const collectionOf = <Item>(item: z.ZodType<Item>) =>
  z.object({ entity: z.literal('collection'), items: z.array(item) });

/** api/errors: only a body of this form is Razorpay's own word. */
export const errorSchema = z.object({
  error: z.object({ code: z.string(), description: z.string() }),
});

const entityOf = <Entity extends z.ZodType>(entity: Entity) => z.object({ entity });

/** The envelope of every webhook; which entities are in it depends on the event. */
export const webhookSchema = z.object({
  entity: z.literal('event'),
  event: z.string().min(1),
  created_at: unixSeconds.optional(),
  payload: z.record(z.string(), z.unknown()),
});
export const paymentPayloadSchema = z.object({
  payment: entityOf(paymentSchema),
  qr_code: entityOf(qrCodeSchema).optional(),
});
export const qrCodePayloadSchema = z.object({ qr_code: entityOf(qrCodeSchema) });
export const refundPayloadSchema = z.object({
  refund: entityOf(refundSchema),
  payment: entityOf(paymentSchema).optional(),
});
export const disputePayloadSchema = z.object({
  dispute: entityOf(disputeSchema),
  payment: entityOf(paymentSchema).optional(),
});
