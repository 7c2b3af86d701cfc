/**
 * The gateway port: the operations that this service needs of a UPI payment gateway. Amounts are
 * integer paise, times Unix milliseconds. The port carries no personal data of buyers.
 *
 * Between PAID and COMPLETED, `holdFunds` keeps the money on hold in the merchant's linked account.
 * In the platform's balance it would be paid out to the platform's bank after two days, while an
 * order may remain undelivered for weeks. `releaseFunds` lifts the hold, or makes the transfer if
 * there is none, so a failed hold only delays the release. `refund` also reverses the transfer,
 * held or released.
 */

/** The outcome of the call is unknown, or it never reached the gateway: it may be repeated. */
export class GatewayUnavailable extends Error {
  override readonly name: string = 'GatewayUnavailable';
  readonly operation: string;

  constructor(operation: string, detail: string, options?: ErrorOptions) {
    super(`${operation}: the gateway is unavailable (${detail})`, options);
    this.operation = operation;
  }
}

/** It answered in a form, or with a status, that the adapter does not know: nothing is concluded from it. */
export class GatewayNotUnderstood extends GatewayUnavailable {
  override readonly name = 'GatewayNotUnderstood';
}

/** The gateway refused, and would refuse a repeat: an operator must find the cause. */
export class GatewayRefused extends Error {
  override readonly name: string = 'GatewayRefused';
  readonly operation: string;
  /** The gateway's code, for example `BAD_REQUEST_ERROR`, or a code of this service. */
  readonly code: string;
  /** The gateway's description, for operators and never for buyers. */
  readonly description: string;

  constructor(operation: string, code: string, description: string) {
    super(`${operation}: the gateway refused (${code}: ${description})`);
    this.operation = operation;
    this.code = code;
    this.description = description;
  }
}

/** A transfer was accepted, and failed later: nothing of it has moved. It may be made again. */
export class TransferFailed extends GatewayRefused {
  override readonly name = 'TransferFailed';
  /** How many transfers of the payment have failed so far. */
  readonly failures: number;

  constructor(operation: string, failures: number, code: string, description: string) {
    super(operation, code, description);
    this.failures = failures;
  }
}

/** The code of the refusal of a transfer or refund, or of its failure, for which the platform's balance is too small. */
export const INSUFFICIENT_BALANCE = 'INSUFFICIENT_BALANCE';

/**
 * The idempotency key of a call that moves money: gateway payment and operation, never the attempt.
 * Hold and release share `transfer`, because a payment has one transfer.
 */
export function moneyKey(gatewayPaymentId: string, operation: 'transfer' | 'refund'): string {
  return `${gatewayPaymentId}-${operation}`;
}

/** The session to open. */
export interface OpenSessionInput {
  orderNumber: string;
  /** The service's id of the session: the gateway stores it with the order number. */
  sessionId: string;
  amountPaise: number;
  expiresAtMs: number;
  /** Shown to the buyer in the UPI app. */
  description: string;
}

/** A session that the gateway has opened. */
export interface OpenedSession {
  gatewaySessionId: string;
  /** `upi://pay?…`: the content of the QR code and the link of the pay button. */
  upiIntent: string;
  /** The gateway's page for this session: an image of the code, or a UPI app. */
  pageUrl: string;
}

/** A session as the gateway reports it; null where the gateway reports no value. */
export interface GatewaySession {
  gatewaySessionId: string;
  state: 'open' | 'closed';
  /** It was closed by a payment, even if that is not listed yet. */
  isPaid: boolean;
  orderNumber: string | null;
  sessionId: string | null;
}

/** What the gateway has charged the platform for a payment or for a transfer, in paise. */
export interface GatewayFee {
  /** With its tax. */
  feePaise: number;
  taxPaise: number;
}

/** A payment as the gateway reports it, without personal data of the buyer. */
export interface GatewayPayment {
  gatewayPaymentId: string;
  /** `refunded`: captured, then refunded in full. */
  status: 'created' | 'authorized' | 'captured' | 'refunded' | 'failed';
  amountPaise: number;
  refundedPaise: number;
  currency: string;
  /** As given when the session was opened; null when the gateway did not copy it. */
  orderNumber: string | null;
  sessionId: string | null;
  failure: { code: string; description: string } | null;
  /** The payment's reference at banks and in UPI apps; null when the gateway does not report it. */
  utr: string | null;
  /** Null while the gateway does not report it. */
  fee: GatewayFee | null;
}

/** True of a payment whose money was captured; it may have been refunded since. */
export function isCaptured({ status }: GatewayPayment): boolean {
  return status === 'captured' || status === 'refunded';
}

/** Called right before the request that moves the money. If it throws, the request is not sent. */
export type BeforeMoving = () => Promise<void>;

/** The hold or release of a payment. */
export interface TransferInput {
  gatewayPaymentId: string;
  /** The merchant's amount: some gateways allow at most the payment less its fee and tax. */
  amountPaise: number;
  linkedAccountId: string;
  /** `moneyKey(gatewayPaymentId, 'transfer')`, the same for hold and release. */
  idempotencyKey: string;
  /** How many transfers of the payment have failed and are known: another one may be made after these. */
  knownFailures: number;
  beforeMoving: BeforeMoving;
}

/** The transfer of a payment to the linked account, as the gateway reports it. */
export interface GatewayTransfer {
  transferId: string;
  /** `pending`: accepted, not yet completed. A repeat with the same key returns its state. */
  state: 'pending' | 'held' | 'released';
  /** Null while the gateway does not report it. */
  fee: GatewayFee | null;
}

/** The payout to the merchant's bank with which the gateway has settled a transfer. */
export interface TransferPayout {
  transferId: string;
  payoutId: string;
}

/** The money of a payment transferred to the linked account, less what was reversed, and the fee. */
export interface TransferredFunds {
  heldPaise: number;
  releasedPaise: number;
  /** Of the transfers that have not failed; null if the gateway does not report it. */
  fee: GatewayFee | null;
  /** The linked account of each transfer of which money is there; null if the gateway does not report it. */
  recipients: (string | null)[];
  /** Of each transfer that is settled; days after its release, or never if the gateway does not report it. */
  payouts: TransferPayout[];
}

/** The refund of a payment. */
export interface RefundInput {
  gatewayPaymentId: string;
  amountPaise: number;
  /** `moneyKey(gatewayPaymentId, 'refund')`. */
  idempotencyKey: string;
  /** A hold was tried: its transfer is taken back, even if the gateway lists it only later. */
  mayBeTransferred: boolean;
  beforeMoving: BeforeMoving;
  /** Stored by the gateway; must contain no personal data. */
  reason: string;
}

/**
 * A refund or a chargeback, as the gateway reports it. In a chargeback the buyer's bank reclaims a
 * payment; some gateways call it a dispute.
 */
export interface GatewayReversal {
  /** The gateway's id of the refund or chargeback. */
  reversalId: string;
  gatewayPaymentId: string;
  kind: 'refund' | 'chargeback';
  /** Of a chargeback: the amount that the bank claims or, if it is lost, the amount taken. */
  amountPaise: number;
  /**
   * Of a refund: `pending` (accepted, in progress at the bank), `processed` or `failed`. Of a
   * chargeback: `open`, also while the bank reviews the evidence, `won` if the merchant keeps the
   * money, or `lost`.
   */
  state: 'pending' | 'processed' | 'failed' | 'open' | 'won' | 'lost';
  /** The key of this service's refund; null or another key if it was made at the gateway itself. */
  idempotencyKey: string | null;
}

/** The merchant's account to open at the gateway, in the fields that gateways require. */
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

/** Whether a linked account may receive transfers, as the gateway reports it. */
export interface GatewayLinkedAccount {
  /**
   * `activated`: it may. `waiting`: the gateway has not verified it, or not yet. `suspended`: the gateway
   * has stopped it. `unknown`: it exists, and the gateway does not report whether it is verified.
   */
  state: 'activated' | 'waiting' | 'suspended' | 'unknown';
  /** The gateway makes no transfers to it before this time, whatever its state. */
  transfersFromMs: number;
}

/** The code of the refusal when the gateway has no linked account with an id. */
export const NO_SUCH_ACCOUNT = 'NO_SUCH_ACCOUNT';

interface CallbackFacts {
  /** The same for every delivery of one event, but not signed, so it cannot be trusted. */
  eventId: string;
  /** The gateway's name of the event. */
  name: string;
}

/** A verified callback. */
export type GatewayEvent = CallbackFacts &
  (
    | { type: 'payment'; payment: GatewayPayment; gatewaySessionId: string | null }
    | ({ type: 'session_closed' } & Pick<GatewaySession, 'gatewaySessionId' | 'isPaid'>)
    /** A transfer to a linked account has been completed, or has failed. */
    | { type: 'transfer'; gatewayPaymentId: string; hasFailed: boolean }
    /** The payment is null when the callback does not contain it. */
    | { type: 'reversal'; reversal: GatewayReversal; payment: GatewayPayment | null }
    /** An event from the gateway that the service does not use. */
    | { type: 'ignored' }
  );

/** The result of verifying and parsing a callback. */
export type CallbackResult =
  | { verified: true; event: GatewayEvent }
  | { verified: false; reason: 'signature_missing' | 'signature_wrong' }
  /** Signed by the gateway, but in a form that the adapter does not accept. */
  | { verified: false; reason: 'body_malformed'; eventId: string };

/** The headers, with names in lower case as Node provides them. */
export type CallbackHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Every method except `parseCallback` throws only `GatewayUnavailable`, `GatewayRefused` or what
 * `beforeMoving` throws. A call that moves money first looks for its result at the gateway, and
 * looks again if the outcome is unknown, so every call may be repeated.
 */
export interface PaymentGateway {
  /**
   * Opens a payment session for one payment of exactly this amount. If the response is lost, the
   * session is not looked up: no buyer has its QR code, so it cannot be paid, and it expires.
   */
  openSession(input: OpenSessionInput): Promise<OpenedSession>;
  /**
   * Closes it if it is open, and returns its payments as the list does. Takes 4 s at most.
   *
   * @throws GatewayUnavailable also if it is paid, and its payment is not listed yet
   */
  closeSession(gatewaySessionId: string): Promise<GatewayPayment[]>;
  fetchSession(gatewaySessionId: string): Promise<GatewaySession>;
  /** The sessions opened since this time, in Unix milliseconds, newest first. */
  listSessions(sinceMs: number): Promise<GatewaySession[]>;
  /** All payments, including failed ones, newest first. */
  listSessionPayments(gatewaySessionId: string): Promise<GatewayPayment[]>;
  fetchPayment(gatewayPaymentId: string): Promise<GatewayPayment>;
  /** The session that a payment was made on; undefined for a payment that was made otherwise. */
  fetchSessionOfPayment(gatewayPaymentId: string): Promise<GatewaySession | undefined>;
  /** All refunds, including failed ones and those made at the gateway itself, newest first. */
  listRefunds(gatewayPaymentId: string): Promise<GatewayReversal[]>;
  /** The newest 100 chargebacks of all payments, newest first. */
  listNewestChargebacks(): Promise<GatewayReversal[]>;
  fetchChargeback(reversalId: string): Promise<GatewayReversal>;
  /** The money of a payment in the merchant's linked account, held and released. */
  fetchTransferred(gatewayPaymentId: string): Promise<TransferredFunds>;
  /** The reference of a payout at banks; null while the gateway does not report it. */
  fetchPayoutUtr(payoutId: string): Promise<string | null>;
  /**
   * Transfers the funds of a captured payment to the linked account on hold.
   *
   * @throws GatewayRefused if a transfer with the same key went to another account; TransferFailed once for each transfer that failed later; the call after it makes another one
   */
  holdFunds(input: TransferInput): Promise<GatewayTransfer>;
  /**
   * Releases the funds to the merchant, held before or not. Done when the state is `released`.
   *
   * @throws TransferFailed as {@link holdFunds}
   */
  releaseFunds(input: TransferInput): Promise<GatewayTransfer>;
  /**
   * Takes back what is on hold for the merchant: it returns to the platform's balance. Does nothing if
   * nothing is on hold.
   */
  takeBackHeld(input: Pick<TransferInput, 'gatewayPaymentId' | 'beforeMoving'>): Promise<void>;
  /**
   * Refunds the buyer, from the linked account if the money is there. Done when the state is
   * `processed`. If a refund fails after it was accepted, it throws, and the next call makes a new one.
   */
  refund(input: RefundInput): Promise<GatewayReversal>;
  /** Opens an account for a merchant's payouts, or returns the one with the same email and name. */
  createLinkedAccount(input: LinkedAccountInput): Promise<{ linkedAccountId: string }>;
  /** @throws GatewayRefused with the code `NO_SUCH_ACCOUNT` for an unknown id */
  fetchLinkedAccount(linkedAccountId: string): Promise<GatewayLinkedAccount>;
  /**
   * Pays an open session as its buyer would. Only the sandbox supports this.
   *
   * @param options.isLate also a session that is paid or closed: a bank may be late
   * @throws GatewayRefused also when the session is paid or closed already
   */
  payAsBuyer(gatewaySessionId: string, options?: { isLate: boolean }): Promise<void>;
  /**
   * Opens a chargeback as the buyer's bank would, or ends the one of the payment that is open. Only the sandbox
   * supports this.
   */
  chargeBackAsBank(
    gatewayPaymentId: string,
    outcome: 'open' | 'won' | 'lost',
  ): Promise<GatewayReversal>;
  /** Has this service's processed refund of a payment fail. Only the sandbox supports this. */
  failRefundAsBank(gatewayPaymentId: string): Promise<void>;
  /** Never throws. The signature covers the raw bytes of the body. */
  parseCallback(rawBody: Uint8Array, headers: CallbackHeaders): CallbackResult;
}
