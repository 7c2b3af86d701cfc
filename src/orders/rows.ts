import type { Busy, Environment, OrderStatus, OrderTerms, RefundReason } from '../domain/index.ts';

/** What a request asks for, as its row in `order_requests` keeps it. */
export type RequestBody = Readonly<Record<string, string | number>>;

/** A row of `orders`, as PostgreSQL gives it; see the migration for what each column means. */
export interface OrderRow {
  order_number: string;
  merchant_id: string;
  environment: Environment;
  idempotency_key: string;
  request_hash: Uint8Array;
  merchant_order_id: string | null;
  amount_paise: number;
  description: string;
  buyer_email: string;
  buyer_phone: string;
  buyer_name: string;
  payment_token: string;
  status: OrderStatus;
  busy: Busy | null;
  step_number: number;
  dispute_count: number;
  gateway_payment_id: string | null;
  payment_utr: string | null;
  paid_at: Date | null;
  payment_link_expires_at: Date;
  completes_at: Date | null;
  dispute_reason: string | null;
  dispute_raised_at: Date | null;
  dispute_respond_by: Date | null;
  dispute_evidence: string | null;
  dispute_resolution: string | null;
  dispute_decided_for: 'merchant' | 'buyer' | null;
  dispute_decision_reason: string | null;
  dispute_decided_at: Date | null;
  dispute_ended_at: Date | null;
  refund_amount_paise: number | null;
  refund_reason: RefundReason | null;
  refund_processed_at: Date | null;
  cancelled_by: 'merchant' | 'expiry' | null;
  cancel_reason: string | null;
  cancelled_at: Date | null;
  waiting_dispute_id: string | null;
  waiting_dispute_received_at: Date | null;
  open_session_id: string | null;
  terms: OrderTerms;
  created_at: Date;
  updated_at: Date;
}
