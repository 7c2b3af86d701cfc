/** Razorpay's entities as they go over the wire: amounts in paise, times in Unix seconds. */

/** Key-value pairs of the caller's own. */
export type Notes = Readonly<Record<string, string>>;

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

export interface Payment {
  id: string;
  entity: 'payment';
  amount: number;
  currency: 'INR';
  status: 'captured' | 'refunded' | 'failed';
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
  fee: number;
  tax: number;
  error_code: string | null;
  error_description: string | null;
  error_source: string | null;
  error_step: string | null;
  error_reason: string | null;
  acquirer_data: { rrn: string | null };
  created_at: number;
}

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

/** A chargeback, in Razorpay's word. */
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

export interface Transfer {
  id: string;
  entity: 'transfer';
  status: 'pending' | 'processed' | 'reversed' | 'partially_reversed';
  source: string;
  recipient: string;
  amount: number;
  currency: 'INR';
  amount_reversed: number;
  notes: Notes;
  linked_account_notes: readonly string[];
  on_hold: boolean;
  on_hold_until: number | null;
  settlement_status: 'on_hold' | 'pending';
  recipient_settlement_id: null;
  created_at: number;
  processed_at: number | null;
}

export interface LinkedAccount {
  id: string;
  type: 'route';
  status: 'created';
  email: string;
  phone: string;
  contact_name: string;
  business_type: string;
  legal_business_name: string;
  profile: Readonly<Record<string, unknown>>;
  notes: Notes;
  created_at: number;
}

export type Collection<Item> = { entity: 'collection'; count: number; items: Item[] };

/** The `count` and `skip` of every list: 10 by default, 100 at most, the newest first. */
export interface Page {
  count: number;
  skip: number;
}

/** A page of items that were collected oldest first. */
export function collection<Item>(oldestFirst: readonly Item[], { count, skip }: Page) {
  const items = oldestFirst.toReversed().slice(skip, skip + count);
  return { entity: 'collection', count: items.length, items } satisfies Collection<Item>;
}

/** What the API answers instead of an entity: api/errors, `{error: {code, description, …}}`. */
export class RazorpayError extends Error {
  override readonly name = 'RazorpayError';
  readonly status: number;
  readonly code: string;

  constructor(status: number, description: string, code = 'BAD_REQUEST_ERROR') {
    super(description);
    this.status = status;
    this.code = code;
  }

  /** The body as it goes over the wire. */
  toBody() {
    const { code, message: description } = this;
    const where = { source: 'NA', step: 'NA', reason: 'NA' };
    return { error: { code, description, ...where, metadata: {} } };
  }
}

/** A 400 with Razorpay's own words where its documentation gives them. */
export function badRequest(description: string): RazorpayError {
  return new RazorpayError(400, description);
}

/** Their own fault: with these words, and whatever status. */
export function serverError(status: number): RazorpayError {
  const description =
    'We are facing some trouble completing your request at the moment. Please try again shortly.';
  return new RazorpayError(status, description, 'SERVER_ERROR');
}
