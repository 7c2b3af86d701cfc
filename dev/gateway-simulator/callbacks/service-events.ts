/** The events of docs/go-live.md. Others are ignored by the service, and cost a row each. */
export const SERVICE_EVENTS = [
  'payment.captured',
  'payment.failed',
  'qr_code.credited',
  'qr_code.closed',
  'refund.processed',
  'refund.failed',
  'transfer.failed',
  'payment.dispute.created',
  'payment.dispute.under_review',
  'payment.dispute.action_required',
  'payment.dispute.won',
  'payment.dispute.lost',
  'payment.dispute.closed',
];
