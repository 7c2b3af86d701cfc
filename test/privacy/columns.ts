/**
 * Every column of the schema, by whose data it can have.
 *
 * - `buyer`: a buyer's; `erase_order` empties it
 * - `derived`: made from a buyer's data, such as a hash of it; `erase_order` empties it, too
 * - `merchant`: of merchants, of their users and of operators, who are not buyers
 * - `passing`: of requests and mails; deleted when it has expired (docs/runbook/retention.md)
 * - `audit`: what operators have written, which stays
 * - `none`: ids, amounts, times, states and codes
 */
export type ColumnClass = 'buyer' | 'derived' | 'merchant' | 'passing' | 'audit' | 'none';

/** The columns of each table in each class. */
export const COLUMNS: Readonly<Record<string, Partial<Record<ColumnClass, string>>>> = {
  account_attempts: { passing: 'subject address', none: 'purpose attempts first_at last_at' },
  alerts: {
    // The error of a gateway may name a buyer; the other details are ids and amounts.
    buyer: 'details',
    none: 'alert_id kind subject count first_at last_at cleared_at cleared_by',
    audit: 'cleared_reason',
  },
  api_keys: {
    merchant: 'api_key secret_hmac',
    none: 'merchant_id environment created_at rotated_at last_used_at pepper_id',
  },
  audit_log: { audit: 'actor address details', none: 'audit_id at action merchant_id subject' },
  confirmed_admins: { none: 'user_id confirmed_at' },
  dashboard_sessions: {
    passing: 'token_hash address user_agent',
    none: 'session_id user_id created_at last_seen_at expires_at confirmed_at',
  },
  disputes: {
    buyer: 'reason evidence resolution decision_reason',
    merchant: 'raised_by decided_by',
    none: `order_number number merchant_id environment raised_at respond_by operator_decides
      evidence_at decided_for decided_at ending ended_at`,
  },
  event_counters: { none: 'merchant_id environment last_number' },
  event_numbers: {
    none: 'merchant_id environment event_id insert_number number numbered_at',
  },
  gateway_callbacks: {
    buyer: 'body',
    none: `callback_id gateway environment event_id event received_at named_ids gateway_payment_id order_number
      is_unconfirmed reports_refund`,
  },
  gateway_reversals: {
    none: `gateway reversal_id gateway_payment_id order_number kind amount_paise state has_left
      blocks_release booked_paise platform_paise recorded_at asked_at ended_at came_back_at checked_at`,
  },
  kept_forms: { passing: 'content_sealed', none: 'holder path expires_at' },
  known_devices: { passing: 'token_hash', none: 'user_id last_used_at' },
  ledger_days: { none: 'merchant_id environment day debit_account credit_account amount_paise' },
  ledger_proofs: { none: 'proof_id at duration_ms ok figures fault_count faults' },
  ledger_seal: { none: 'is_only_row sealed_to complete_to next_to next_at next_xid' },
  ledger_transfers: {
    none: `transfer_id gateway gateway_payment_id operation order_number merchant_id environment
      debit_account credit_account amount_paise at booked_at movement_id reversal_id refund_try`,
  },
  linked_account_changes: {
    merchant: 'linked_account_id',
    none: 'change_id merchant_id environment gateway active_from',
  },
  linked_accounts: {
    merchant: 'linked_account_id',
    none: 'merchant_id environment gateway state transfers_from receives_transfers check_at',
  },
  mails: {
    passing: 'sealed failure',
    none: 'mail_id order_number kind created_at sent_at failed_at sweep_at',
  },
  merchant_applications: {
    merchant: `legal_name business_kind pan gstin phone street city region pin_code account_holder
      account_number_sealed account_last_four ifsc submitted submitted_before`,
    none: 'merchant_id submitted_at account_number_at',
  },
  merchant_documents: {
    merchant: 'file_name sha256 content_sealed',
    none: 'document_id merchant_id kind media_type size_bytes uploaded_at',
  },
  merchant_environments: {
    merchant: 'allowed_origins webhook_url webhook_secret_sealed',
    none: 'merchant_id environment updated_at fails_after_work',
  },
  merchant_sends: { none: 'merchant_id kind sent_at' },
  merchants: {
    merchant: 'name email status_reason',
    none: 'merchant_id status approval_revoked gateway created_at submissions application_edits',
  },
  one_time_links: { passing: 'token_hash', none: 'user_id purpose expires_at' },
  order_blocks: { none: 'merchant_id environment ends_at orders by_status' },
  order_commands: {
    buyer: 'body reason address',
    merchant: 'actor',
    none: `order_number command_id try_number name state request_id merchant_id written_at
      received_at`,
  },
  order_events: { buyer: 'body', none: 'event_id order_number sequence step_number type at' },
  order_steps: {
    // `step` is what the workflow has, which is never personal: docs/adr/0011.
    buyer: 'details',
    none: `order_number step_number merchant_id kind at recorded_at status step command_id
      in_audit_list request_id`,
  },
  orders: {
    buyer:
      'idempotency_key description buyer_email buyer_phone buyer_name cancel_reason return_url',
    derived: 'request_hash',
    // The UTR and the merchant's own id are references of the accounts, and the token a random number.
    none: `order_number merchant_id environment gateway merchant_order_id amount_paise buyer_language payment_token
      status pending_operation step_number dispute_count gateway_payment_id payment_utr paid_at reversed_paise
      payment_link_expires_at completes_at release_tried_for refund_amount_paise refund_reason refund_processed_at
      cancelled_by cancelled_at waiting_dispute_id waiting_dispute_received_at open_session_id terms
      created_at updated_at erased_at`,
  },
  outside_settlements: {
    buyer: 'reason',
    audit: 'actor',
    none: 'order_number outcome amount_paise reference at checked_at',
  },
  payment_session_keys: { buyer: 'idempotency_key', none: 'order_number session_id' },
  payment_sessions: {
    buyer: 'upi_intent page_url',
    none: `session_id order_number environment gateway state gateway_session_id expires_at ended_at
      pay_command_id created_at next_check_at looked_at request_id`,
  },
  payments: {
    merchant: 'linked_account_id',
    none: `gateway gateway_payment_id environment order_number session_id amount_paise currency
      gateway_status refunded_paise is_whole utr captured_at money_lease_token money_lease_ends_at money_unknown_until claimed_at
      hold_started_at hold_refused_at held_at transfer_failures balance_refused_at fee_paise
      transfer_fee_paise gateway_transfer_id gateway_refund_id gateway_refund_paise`,
  },
  pending_logins: { passing: 'token_hash', none: 'user_id expires_at' },
  proposals: {
    // Of a proposal about an order.
    buyer: 'reason',
    merchant: 'operator_email parameters before outcome',
    none: `proposal_id kind order_number merchant_id subject proposed_by proposed_at expires_at status decided_by
      decided_at carried_out_at warned_at`,
  },
  rate_limits: { passing: 'client', none: 'admitted_at' },
  recovery_codes: { merchant: 'code_hash', none: 'user_id used_at' },
  schema_version: { none: 'version name md5 run_at' },
  sign_ups: { passing: 'token_hash email business_name password_hash', none: 'expires_at' },
  surplus_refunds: {
    none: `gateway gateway_payment_id order_number amount_paise reason started_at processed_at
      settled_paise reference`,
  },
  order_wakeups: { none: 'order_number cause cause_id written_at due_at' },
  transfer_payouts: {
    none: 'release_id line_id order_number merchant_id environment payout_id utr booked_at',
  },
  users: {
    merchant: 'email password_hash totp_secret_sealed',
    none: `user_id merchant_id operator_role totp_confirmed_at totp_last_step created_at
      disabled_at muted_mails`,
  },
  webhook_attempts: {
    buyer: 'response_body',
    merchant: 'url signature standard_signature',
    none: `attempt_id delivery_id merchant_id environment kind at api_version status_code
      duration_ms error is_delivered`,
  },
  webhook_deliveries: {
    none: `delivery_id event_id merchant_id environment event_type state next_attempt_at
      failed_attempts postponements attempt_token attempt_until wake_at created_at settled_at
      is_erased`,
  },
  webhook_resends: {
    none: `resend_id merchant_id environment delivery_ids total_count only_undelivered created_at
      done_count delivered_count refused_count finished_at stop_cause`,
  },
  webhook_warnings: { none: 'merchant_id environment warned_at mailed_at' },
};

export function columnsOf(wanted: ColumnClass): { table: string; column: string }[] {
  return Object.entries(COLUMNS).flatMap(([table, classes]) =>
    (classes[wanted] ?? '')
      .split(/\s+/)
      .filter((column) => column !== '')
      .map((column) => ({ table, column })),
  );
}
