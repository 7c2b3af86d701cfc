import { z } from 'zod';

/** Razorpay's entities as in its HTTP API: amounts in paise, times in Unix seconds. */

/**
 * Key-value pairs that the caller attaches to an entity: "Maximum 15 key-value pairs, 256 characters
 * (maximum) each."
 */
export const notes = z
  .record(z.string().max(256), z.string().max(256))
  .refine((pairs) => Object.keys(pairs).length <= 15);
type Notes = Readonly<z.output<typeof notes>>;

/** A QR code for one payment. */
export interface QrCode {
  id: string;
  entity: 'qr_code';
  created_at: number;
  usage: 'single_use';
  type: 'upi_qr';
  image_url: string;
  image_content: string;
  payment_amount: number;
  status: 'active' | 'closed';
  description: string;
  fixed_amount: true;
  payments_amount_received: number;
  payments_count_received: number;
  notes: Notes;
  close_by: number;
  closed_at: number | null;
  close_reason: 'on_demand' | 'paid' | null;
}

/** A buyer's attempt to pay. */
export interface Payment {
  id: string;
  entity: 'payment';
  amount: number;
  currency: 'INR';
  /** A payment that was never captured is `refunded`, too. */
  status: 'authorized' | 'captured' | 'refunded' | 'failed';
  order_id: null;
  method: 'upi';
  amount_refunded: number;
  refund_status: 'partial' | 'full' | null;
  captured: boolean;
  description: string;
  vpa: string;
  email: string;
  contact: string;
  notes: Notes;
  /** In paise, with the tax; null until it is captured. */
  fee: number | null;
  tax: number | null;
  error_code: string | null;
  error_description: string | null;
  error_source: string | null;
  error_step: string | null;
  error_reason: string | null;
  acquirer_data: { rrn: string | null };
  created_at: number;
}

/** A refund of a payment or of a part of it. */
export interface Refund {
  id: string;
  entity: 'refund';
  amount: number;
  currency: 'INR';
  payment_id: string;
  notes: Notes;
  receipt: string | null;
  acquirer_data: { arn: string | null };
  created_at: number;
  batch_id: null;
  status: 'pending' | 'processed' | 'failed';
  speed_processed: 'normal';
  speed_requested: 'normal';
}

/** A chargeback, which Razorpay calls dispute. */
export interface Dispute {
  id: string;
  entity: 'dispute';
  payment_id: string;
  amount: number;
  currency: 'INR';
  amount_deducted: number;
  reason_code: string;
  respond_by: number;
  status: 'open' | 'under_review' | 'won' | 'lost' | 'closed';
  phase: 'chargeback';
  created_at: number;
}

/** Why a transfer failed. */
export interface TransferError {
  code: string | null;
  description: string | null;
  reason: string | null;
  field: null;
  step: string | null;
  id: string;
  source: string | null;
  metadata: null;
}

/** Money moved to a linked account. */
export interface Transfer {
  id: string;
  entity: 'transfer';
  status: 'pending' | 'processed' | 'failed' | 'reversed' | 'partially_reversed';
  source: string;
  recipient: string;
  amount: number;
  currency: 'INR';
  amount_reversed: number;
  /** In paise, with the tax. */
  fees: number;
  tax: number;
  notes: Notes;
  linked_account_notes: readonly string[];
  on_hold: boolean;
  on_hold_until: number | null;
  settlement_status: 'on_hold' | 'pending' | 'settled' | null;
  recipient_settlement_id: string | null;
  created_at: number;
  processed_at: number | null;
  error: TransferError;
}

/** Of `/v2/accounts`. Source: api/partners/account-onboarding/entity. */
export const ACCOUNT_STATUSES = [
  'created',
  'activated',
  'needs_clarification',
  'under_review',
  'suspended',
] as const;

/** Whether the bank account of a linked account is verified. Source: payments/route/faqs. */
export const ACTIVATIONS = [
  'activated',
  'verification_pending',
  'verification_failed',
  'not_activated',
] as const;

/** A merchant's account at the gateway, which receives transfers. */
export interface LinkedAccount {
  id: string;
  type: 'route';
  status: (typeof ACCOUNT_STATUSES)[number];
  email: string;
  phone: string;
  contact_name: string;
  business_type: string;
  legal_business_name: string;
  profile: Readonly<Record<string, unknown>>;
  notes: Notes;
  created_at: number;
}

/** An error response of the API. Source: api/errors, `{error: {code, description, …}}`. */
export class RazorpayError extends Error {
  override readonly name = 'RazorpayError';
  readonly status: number;
  readonly code: string;

  constructor(status: number, description: string, code = 'BAD_REQUEST_ERROR') {
    super(description);
    this.status = status;
    this.code = code;
  }

  /** The response body. */
  toBody() {
    const { code, message: description } = this;
    const where = { source: 'NA', step: 'NA', reason: 'NA' };
    return { error: { code, description, ...where, metadata: {} } };
  }
}

/** A 400, with the description of Razorpay's documentation where it gives one. */
export function badRequest(description: string): RazorpayError {
  return new RazorpayError(400, description);
}

/** A 429 or 5xx response with Razorpay's description. */
export function serverError(status: number): RazorpayError {
  const description =
    'We are facing some trouble completing your request at the moment. Please try again shortly.';
  return new RazorpayError(status, description, 'SERVER_ERROR');
}
