import { z } from 'zod';

/**
 * The parts of Razorpay's responses that the service reads; all others are dropped. Source:
 * github.com/razorpay/markdown-docs (api/qr-codes, api/payments, api/refunds, api/payments/route, webhooks), commit
 * ab3bda5 of April 2026.
 */

/** Razorpay returns empty notes as `[]`. */
const notes = z
  .union([z.record(z.string(), z.unknown()), z.array(z.unknown()).transform(() => ({}))])
  .nullish()
  .transform((given): Record<string, unknown> => given ?? {});

const paise = z.number().int().nonnegative();

/** For values that decide nothing: null if absent or of another form. */
const orNull = <Value>(schema: z.ZodType<Value>) => schema.nullable().catch(null);

const entity = <const Kind extends string>(kind: Kind) => ({
  id: z.string().min(1),
  entity: z.literal(kind),
});

/** An entity that returns a part of a payment to the buyer. */
const returned = <const Kind extends string, const Status extends string>(
  kind: Kind,
  statuses: readonly Status[],
) => z.object({ ...entity(kind), payment_id: z.string(), amount: paise, status: z.enum(statuses) });

/** api/qr-codes: a UPI QR code, which is the port's session. */
export const qrCodeSchema = z.object({
  ...entity('qr_code'),
  status: z.enum(['active', 'closed']),
  image_url: z.string(),
  /** Present only if Razorpay has enabled the feature for the account: api/qr-codes/image-content. */
  image_content: z.string().optional(),
  /** `paid` if it was closed by its payment. */
  close_reason: orNull(z.string()),
  notes,
});
export type QrCode = z.infer<typeof qrCodeSchema>;

/**
 * api/payments; `rrn` is the UTR of a UPI payment. The documents call `acquirer_data` an array and
 * show an object.
 */
export const paymentSchema = z.object({
  ...entity('payment'),
  status: z.enum(['created', 'authorized', 'captured', 'refunded', 'failed']),
  amount: paise,
  currency: z.string(),
  amount_refunded: paise.nullish(),
  captured: z.boolean().nullish(),
  /** Includes its tax (api/payments/entity). */
  fee: orNull(paise),
  error_code: orNull(z.string()),
  error_description: orNull(z.string()),
  acquirer_data: z.object({ rrn: orNull(z.string().min(1)) }).catch({ rrn: null }),
  notes,
});
/** Amounts are paise. */
export type Payment = z.infer<typeof paymentSchema>;

export const refundSchema = returned('refund', ['pending', 'processed', 'failed']).extend({
  notes,
});
/** Amounts are paise. */
export type Refund = z.infer<typeof refundSchema>;

/** api/disputes: the port's chargeback. */
export const disputeSchema = returned('dispute', [
  'open',
  'under_review',
  'won',
  'lost',
  'closed',
]).extend({
  /** 0 until it is lost. */
  amount_deducted: paise.nullish(),
});
/** Amounts are paise. */
export type Dispute = z.infer<typeof disputeSchema>;

/** api/payments/route/fetch-settlement-details: the payout of a linked account. */
const settlementSchema = z.object({
  ...entity('settlement'),
  status: z.enum(['created', 'processed', 'failed']),
  utr: orNull(z.string().min(1)),
});

const transfer = z.object({
  ...entity('transfer'),
  status: z.enum(['created', 'pending', 'processed', 'failed', 'reversed', 'partially_reversed']),
  /** The linked account. */
  recipient: orNull(z.string()),
  amount: paise,
  amount_reversed: paise.nullish(),
  fees: orNull(paise),
  on_hold: z.boolean(),
  error: orNull(
    z.object({
      code: orNull(z.string()),
      description: orNull(z.string()),
      reason: orNull(z.string()),
    }),
  ),
  /** Null until it is settled. */
  recipient_settlement_id: orNull(z.string().min(1)),
  created_at: orNull(z.number().int()),
  notes,
});
/** The same transfer, fetched with its settlement. Nothing else in it is used. */
export const settledTransferSchema = z.object({ recipient_settlement: orNull(settlementSchema) });

/**
 * api/payments/route: a transfer to a linked account. Its status is in `status`, and on the page
 * transfers-entity in `transfer_status`.
 */
export const transferSchema = z.preprocess((given) => {
  const isOther = typeof given === 'object' && given !== null && 'transfer_status' in given;
  return isOther ? { status: given.transfer_status, ...given } : given;
}, transfer);
/** Amounts are paise, `created_at` is in Unix seconds. */
export type Transfer = z.infer<typeof transferSchema>;

/** api/payments/route: a linked account. */
export const accountSchema = z.object({
  id: z.string().startsWith('acc_'),
  legal_business_name: z.string(),
});

/**
 * The same account with its status. Route's own pages name only `created` and `suspended`;
 * api/partners/account-onboarding/entity names all five for the same endpoint.
 */
export const accountStatusSchema = z.object({
  status: z.enum(['created', 'activated', 'needs_clarification', 'under_review', 'suspended']),
  /** Unix seconds. */
  created_at: z.number().int(),
});

/** api/payments/route/linked-account-apis-beta: whether the account's bank account is verified. */
export const accountActivationSchema = z.object({
  activation_details: z.object({ status: z.string() }),
});

/** The notes of a transfer or refund. Everything else in it may have an unknown form. */
export const keyedSchema = z.object({ notes: z.object({ idempotency_key: z.string() }) });

/** `{entity: 'collection', count, items}`. */
export const collectionOf = <Item>(item: z.ZodType<Item>) =>
  z.object({ entity: z.literal('collection'), items: z.array(item) });
export const anyCollection = collectionOf(z.unknown());

/** api/errors. Only a body of this form counts as Razorpay's refusal. */
export const errorSchema = z.object({
  error: z.object({ code: z.string(), description: z.string() }),
});

const entityOf = <Entity extends z.ZodType>(schema: Entity) => z.object({ entity: schema });

/** The envelope of every webhook; the event decides which entities its payload contains. */
export const webhookSchema = z.object({
  entity: z.literal('event'),
  event: z.string().min(1),
  payload: z.record(z.string(), z.unknown()),
});
/** The payload of `payment.*` and `qr_code.credited`. Only the latter contains the QR code. */
export const paymentPayloadSchema = z.object({
  payment: entityOf(paymentSchema),
  qr_code: entityOf(qrCodeSchema).optional(),
});
/** The payload of `qr_code.closed`. */
export const qrCodePayloadSchema = z.object({ qr_code: entityOf(qrCodeSchema) });
/** The payload of `refund.*`. */
export const refundPayloadSchema = z.object({ refund: entityOf(refundSchema) });
/** The payload of `transfer.*`. `source` is the id of the payment or of an order. */
export const transferPayloadSchema = z.object({
  transfer: entityOf(z.object({ ...entity('transfer'), source: z.string() })),
});
/** The payload of `payment.dispute.*`. */
export const disputePayloadSchema = z.object({ dispute: entityOf(disputeSchema) });
