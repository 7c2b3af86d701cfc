import type { LinkedAccountState } from '../../merchants/public.ts';

/**
 * What a payment gateway reports, in its answers and its callbacks. Amounts are integer paise, times Unix
 * milliseconds. No object carries personal data of buyers.
 */

export interface OpenedSession {
  gatewaySessionId: string;
  /** `upi://pay?…`: the content of the QR code and the link of the pay button. */
  upiIntent: string;
  /** The gateway's page for this session: an image of the code, or a UPI app. */
  pageUrl: string;
}

/** Values that the gateway does not report are null. */
export interface GatewaySession {
  gatewaySessionId: string;
  state: 'open' | 'closed';
  /** True if it was closed by a payment, even if the payment is not listed yet. */
  isPaid: boolean;
  orderNumber: string | null;
  sessionId: string | null;
}

export interface GatewayPayment {
  gatewayPaymentId: string;
  /** `refunded`: captured, then refunded in full. */
  status: 'created' | 'authorized' | 'captured' | 'refunded' | 'failed';
  amountPaise: number;
  refundedPaise: number;
  currency: string;
  /** The value given when the session was opened. Null if the gateway did not copy it. */
  orderNumber: string | null;
  sessionId: string | null;
  failure: { code: string; description: string } | null;
  /** The payment's reference at banks and in UPI apps. Null if the gateway does not report it. */
  utr: string | null;
  /** The gateway's charge for it, with the tax. Null until the gateway reports it. */
  feePaise: number | null;
}

/** True if the money was captured, even if it was refunded since. */
export function isCaptured({ status }: GatewayPayment): boolean {
  return status === 'captured' || status === 'refunded';
}

/** True of a payment that failed and took nothing. An authorised one that is not captured in time fails without a code. */
export const isDeclined = ({ failure }: GatewayPayment): boolean =>
  failure !== null && failure.code !== '';

/** The transfer of a payment to the linked account. */
export interface GatewayTransfer {
  transferId: string;
  /** `pending`: accepted, not yet completed. A repeat with the same key returns its state. */
  state: 'pending' | 'held' | 'released';
  /** The gateway's charge for it, with the tax. Null until the gateway reports it. */
  feePaise: number | null;
}

/** The payout to the merchant's bank with which the gateway has settled a transfer. */
export interface TransferPayout {
  transferId: string;
  payoutId: string;
}

/** The money of a payment that was transferred to linked accounts, minus what was reversed, and the fee. */
export interface TransferredFunds {
  heldPaise: number;
  releasedPaise: number;
  /** The fee of the transfers that have not failed. Null if the gateway does not report it. */
  feePaise: number | null;
  /** The linked account of each transfer that has money. Null if the gateway does not report it. */
  recipients: (string | null)[];
  /** The payout of each settled transfer. It appears days after the release, or never. */
  payouts: TransferPayout[];
}

/**
 * Money that went back to the buyer: a refund, also one that this service has made, or a chargeback. In a chargeback
 * the buyer's bank reclaims a payment; some gateways call it a dispute.
 */
export interface RefundOrChargeback {
  reversalId: string;
  gatewayPaymentId: string;
  kind: 'refund' | 'chargeback';
  /** For a chargeback, the amount that the bank claims or, if it is lost, the amount taken. */
  amountPaise: number;
  /**
   * For a refund: `pending` (accepted, in progress at the bank), `processed` or `failed`. For a chargeback: `open`,
   * also while the bank reviews the evidence, `won` if the merchant keeps the money, or `lost`.
   */
  state: 'pending' | 'processed' | 'failed' | 'open' | 'won' | 'lost';
  /** The key of this service's refund. Null or another key if it was made at the gateway itself. */
  idempotencyKey: string | null;
}

export interface GatewayLinkedAccount {
  state: Exclude<LinkedAccountState, 'missing'>;
  /** The gateway makes no transfers to it before this time, whatever its state. */
  transfersFromMs: number;
}

export type GatewayEvent = {
  /** The same for every delivery of one event. It is not signed, so it cannot be trusted. */
  eventId: string;
  /** The gateway's name of the event. */
  name: string;
} & (
  | { type: 'payment'; payment: GatewayPayment; gatewaySessionId: string | null }
  | ({ type: 'session_closed' } & Pick<GatewaySession, 'gatewaySessionId' | 'isPaid'>)
  /** A transfer to a linked account was completed or has failed. */
  | { type: 'transfer'; transferId: string; gatewayPaymentId: string; hasFailed: boolean }
  | { type: 'refund_or_chargeback'; found: RefundOrChargeback }
  /** An event that the service does not use. */
  | { type: 'ignored' }
);

/** Verified: the gateway has signed it. Without an event, its form is one that the adapter does not accept. */
export type VerifiedCallback =
  | { verified: true; event: GatewayEvent }
  | { verified: true; event: null; eventId: string };
export type CallbackResult = VerifiedCallback | { verified: false };

/** Names are in lower case, as Node provides them. */
export type CallbackHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;
