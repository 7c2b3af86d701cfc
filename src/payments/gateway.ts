/**
 * The gateway port: what this service asks of a UPI payment gateway, in its own words. Amounts are
 * integer paise, times Unix milliseconds. Nothing personal about a buyer comes through here.
 *
 * Where the money rests between PAID and COMPLETED: `holdFunds` moves it to the merchant's linked
 * account on hold as soon as it is captured. Left in the platform's own balance it would be paid
 * out to the platform's bank after two days, while an order may stay undelivered for weeks.
 * `releaseFunds` lifts the hold, and makes the transfer itself where none was made, so that a hold
 * that failed costs nothing but time. `refund` takes back a transfer, held or released, with it.
 */

/** Nothing is known of the call, or it never reached the gateway: the same call may be repeated. */
export class GatewayUnavailable extends Error {
  override readonly name = 'GatewayUnavailable';
  readonly operation: string;

  constructor(operation: string, detail: string, options?: ErrorOptions) {
    super(`${operation}: the gateway is unavailable (${detail})`, options);
    this.operation = operation;
  }
}

/** The gateway refused, and would refuse again: an operator has to find out why. */
export class GatewayRefused extends Error {
  override readonly name = 'GatewayRefused';
  readonly operation: string;
  /** The gateway's own code, for example `BAD_REQUEST_ERROR`, or one of the service in the same form. */
  readonly code: string;
  /** The gateway's own words, for an operator and never for a buyer. */
  readonly description: string;

  constructor(operation: string, code: string, description: string) {
    super(`${operation}: the gateway refused (${code}: ${description})`);
    this.operation = operation;
    this.code = code;
    this.description = description;
  }
}

/**
 * The key of a money call: gateway payment and operation, never the attempt. `transfer` is one
 * operation for hold and release, because both are about the one transfer of that payment.
 */
export function moneyKey(gatewayPaymentId: string, operation: 'transfer' | 'refund'): string {
  return `${gatewayPaymentId}-${operation}`;
}

export interface OpenSessionInput {
  orderNumber: string;
  /** The service's id of the session: the gateway keeps it beside the order number. */
  sessionId: string;
  amountPaise: number;
  expiresAtMs: number;
  /** Shown to the buyer in the UPI app. */
  description: string;
}

export interface OpenedSession {
  gatewaySessionId: string;
  /** `upi://pay?…`: what a QR code carries and a button opens. */
  upiIntent: string;
  /** The gateway's page for this session: an image of the code, or a UPI app. */
  pageUrl: string;
  /** When the gateway closes it; not always `expiresAtMs`, which the service enforces. */
  closesAtMs: number;
}

export interface GatewaySession {
  gatewaySessionId: string;
  state: 'open' | 'closed';
  orderNumber: string | null;
  sessionId: string | null;
  amountPaise: number | null;
  closesAtMs: number | null;
}

export interface GatewayPayment {
  gatewayPaymentId: string;
  /** `captured`: the money is there. `refunded`: it was captured, and all of it is refunded. */
  status: 'created' | 'authorized' | 'captured' | 'refunded' | 'failed';
  amountPaise: number;
  refundedPaise: number;
  currency: string;
  /** As written into the session when it was opened; null when the gateway did not copy it. */
  orderNumber: string | null;
  sessionId: string | null;
  failure: { code: string; description: string } | null;
  /** By what banks and UPI apps name the payment; null when the gateway does not know it. */
  utr: string | null;
  createdAtMs: number;
}

/** `paid`: money came in, of which some may have been refunded since. */
export type ClosedSession = { state: 'closed' } | { state: 'paid'; payment: GatewayPayment };

/** Called right before the request that moves the money, which is not sent when it throws. */
export type BeforeMoving = () => Promise<void>;

export interface TransferInput {
  gatewayPaymentId: string;
  /** What the merchant gets: at some gateways not more than the payment less its fee and tax. */
  amountPaise: number;
  linkedAccountId: string;
  /** `moneyKey(gatewayPaymentId, 'transfer')`, the same for hold and release. */
  idempotencyKey: string;
  beforeMoving: BeforeMoving;
}

export interface GatewayTransfer {
  gatewayTransferId: string;
  /** `pending`: accepted, not yet done. A repeat with the same key returns the result. */
  state: 'pending' | 'held' | 'released';
  amountPaise: number;
}

/** Where a payment's money is that was transferred to the linked account, less what was reversed. */
export interface TransferredFunds {
  heldPaise: number;
  releasedPaise: number;
}

export interface RefundInput {
  gatewayPaymentId: string;
  amountPaise: number;
  /** `moneyKey(gatewayPaymentId, 'refund')`. */
  idempotencyKey: string;
  beforeMoving: BeforeMoving;
  /** A word for the gateway's own books, without personal data. */
  reason: string;
}

export interface GatewayRefund {
  gatewayRefundId: string;
  gatewayPaymentId: string;
  /** `pending`: accepted, under way at the bank. Only callbacks say `failed`: `refund` throws. */
  status: 'pending' | 'processed' | 'failed';
  amountPaise: number;
  createdAtMs: number;
  /** Of a refund that this service has made; null or another key of one made at the gateway itself. */
  idempotencyKey: string | null;
}

/** The buyer's bank asks for a payment's money back. Some gateways call it a dispute. */
export interface GatewayChargeback {
  gatewayChargebackId: string;
  gatewayPaymentId: string;
  /** What is asked for; of a lost one, what was taken. */
  amountPaise: number;
  /** `open` also while the bank examines the evidence. `won`: the money stays. */
  state: 'open' | 'won' | 'lost';
}

export interface LinkedAccountInput {
  email: string;
  phone: string;
  legalBusinessName: string;
  contactName: string;
  businessType: string;
  category: string;
  subcategory: string;
  registeredAddress: {
    street1: string;
    street2: string;
    city: string;
    state: string;
    postalCode: string;
  };
}

interface CallbackFacts {
  /** The same for every delivery of one event, but not signed: a hint, not a proof. */
  eventId: string;
  /** The gateway's own name of the event. */
  name: string;
  occurredAtMs: number | null;
}

export type GatewayEvent = CallbackFacts &
  (
    | {
        type: 'payment_captured' | 'payment_failed';
        payment: GatewayPayment;
        gatewaySessionId: string | null;
      }
    | { type: 'session_closed'; session: GatewaySession }
    | {
        type: 'refund_pending' | 'refund_processed' | 'refund_failed';
        refund: GatewayRefund;
        /** As the gateway sends it along; null when it does not. */
        payment: GatewayPayment | null;
      }
    | {
        type: 'chargeback';
        chargeback: GatewayChargeback;
        payment: GatewayPayment | null;
      }
    /** Truly from the gateway, and nothing to us. */
    | { type: 'ignored' }
  );

export type CallbackResult =
  | { verified: true; event: GatewayEvent }
  | { verified: false; reason: 'signature_missing' | 'signature_wrong' }
  /** Truly from the gateway, but in no form that the adapter knows. */
  | { verified: false; reason: 'body_malformed'; eventId: string };

/** Header names in lower case, as Node gives them. */
export type CallbackHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Every method but `parseCallback` throws `GatewayUnavailable` or `GatewayRefused` and nothing
 * else, but for what `beforeMoving` throws. A money call whose outcome is unknown is looked up at the gateway before it fails, and
 * each money call begins with the same look-up, so that calling again is always safe.
 */
export interface PaymentGateway {
  /**
   * Opens a payment session for one payment of exactly this amount. One whose answer was lost is
   * not looked up: no buyer has seen its QR code, so it cannot be paid, and it closes by itself.
   */
  openSession(input: OpenSessionInput): Promise<OpenedSession>;
  /** Closes it, if need be, and says whether it was paid before that. Takes 4 s at most. */
  closeSession(gatewaySessionId: string): Promise<ClosedSession>;
  fetchSession(gatewaySessionId: string): Promise<GatewaySession>;
  /** Those opened since a moment, in Unix milliseconds, the newest first. */
  listSessions(sinceMs: number): Promise<GatewaySession[]>;
  /** For a callback that names only the payment; null when it was paid by other means. */
  findSessionOfPayment(gatewayPaymentId: string): Promise<GatewaySession | null>;
  /** All payments, failed ones too, the newest first. */
  listSessionPayments(gatewaySessionId: string): Promise<GatewayPayment[]>;
  fetchPayment(gatewayPaymentId: string): Promise<GatewayPayment>;
  /** All refunds of a payment, also failed ones and those of others, newest first. */
  listRefunds(gatewayPaymentId: string): Promise<GatewayRefund[]>;
  /** The newest 100 of all payments, the newest first. */
  listNewestChargebacks(): Promise<GatewayChargeback[]>;
  fetchChargeback(gatewayChargebackId: string): Promise<GatewayChargeback>;
  /** What of a payment is in its merchant's linked account, on hold and released. */
  fetchTransferred(gatewayPaymentId: string): Promise<TransferredFunds>;
  /** Sets the funds of a captured payment aside for the merchant, out of everybody's reach. */
  holdFunds(input: TransferInput): Promise<GatewayTransfer>;
  /** Lets the merchant have the funds, held before or not. Done only when it says `released`. */
  releaseFunds(input: TransferInput): Promise<GatewayTransfer>;
  /**
   * Gives the buyer the money back, out of the linked account if it is there. Done only when it
   * says `processed`. One that failed after it was accepted is made anew by the next call.
   */
  refund(input: RefundInput): Promise<GatewayRefund>;
  /** Opens an account for a merchant's payouts; one with the same email and name is used again. */
  createLinkedAccount(input: LinkedAccountInput): Promise<{ linkedAccountId: string }>;
  /**
   * Pays an open session as its buyer would. Only a sandbox can do it.
   *
   * @throws GatewayRefused also when the session is paid or closed already
   */
  payAsBuyer(gatewaySessionId: string): Promise<void>;
  /** Never throws. The signature is over the raw bytes, so they must not have been parsed before. */
  parseCallback(rawBody: Uint8Array, headers: CallbackHeaders): CallbackResult;
}
