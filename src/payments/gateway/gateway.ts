import type {
  CallbackHeaders,
  CallbackResult,
  GatewayLinkedAccount,
  GatewayPayment,
  RefundOrChargeback,
  GatewaySession,
  GatewayTransfer,
  OpenedSession,
  TransferredFunds,
} from './gateway-objects.ts';

/**
 * The gateway port: the operations that this service needs of a UPI payment gateway. Amounts are
 * integer paise, times Unix milliseconds.
 *
 * Between PAID and COMPLETED, `holdFunds` keeps the money on hold in the merchant's linked account.
 * In the platform's balance it would be paid out to the platform's bank after two days, while an
 * order may remain undelivered for weeks. `releaseFunds` lifts the hold, or makes the transfer if
 * there is none, so a failed hold only delays the release. `refund` also reverses the transfer,
 * held or released.
 */

/** The order number in the sessions of a pilot. No order has it. */
export const PILOT_ORDER_NUMBER = 'GATEWAY-PILOT';

/** The outcome of the call is unknown, or it never reached the gateway: it may be repeated. */
export class GatewayUnavailable extends Error {
  override readonly name: string = 'GatewayUnavailable';
  readonly operation: string;

  constructor(operation: string, detail: string, options?: ErrorOptions) {
    super(`${operation}: the gateway is unavailable (${detail})`, options);
    this.operation = operation;
  }
}

/** The answer has a form or a status that the adapter does not know. Nothing is concluded from it. */
export class GatewayNotUnderstood extends GatewayUnavailable {
  override readonly name = 'GatewayNotUnderstood';
}

/** The gateway refused, and would refuse a repeat. An operator must find the cause. */
export class GatewayRefused extends Error {
  override readonly name: string = 'GatewayRefused';
  readonly operation: string;
  /** The gateway's code, for example `BAD_REQUEST_ERROR`, or a code of this service. */
  readonly code: string;
  /** The gateway's description, for operators. Buyers never see it. */
  readonly description: string;

  constructor(operation: string, code: string, description: string) {
    super(`${operation}: the gateway refused (${code}: ${description})`);
    this.operation = operation;
    this.code = code;
    this.description = description;
  }
}

/** A transfer was accepted and failed later. Nothing of it was moved, so it may be repeated. */
export class TransferFailed extends GatewayRefused {
  override readonly name = 'TransferFailed';
  readonly failures: number;

  constructor(operation: string, failures: number, code: string, description: string) {
    super(operation, code, description);
    this.failures = failures;
  }
}

/** The code of a refused or failed transfer or refund for which the platform's balance is too small. */
export const INSUFFICIENT_BALANCE = 'INSUFFICIENT_BALANCE';

/** The code of the refusal for an unknown id of a linked account. */
export const NO_SUCH_ACCOUNT = 'NO_SUCH_ACCOUNT';

/**
 * The idempotency key of a call that moves money: gateway payment and operation, never the attempt.
 * Hold and release share `transfer`, because a payment has one transfer.
 */
export function moneyKey(gatewayPaymentId: string, operation: 'transfer' | 'refund'): string {
  return `${gatewayPaymentId}-${operation}`;
}

export interface OpenSessionInput {
  orderNumber: string;
  /** The service's id of the session. The gateway stores it with the order number. */
  sessionId: string;
  amountPaise: number;
  expiresAtMs: number;
  /** Shown to the buyer in the UPI app. */
  description: string;
}

/** Called directly before the request that moves the money. If it throws, the request is not sent. */
export type BeforeMoving = () => Promise<void>;

export interface TransferInput {
  gatewayPaymentId: string;
  /** The merchant's amount. Some gateways allow at most the payment minus its fee and tax. */
  amountPaise: number;
  linkedAccountId: string;
  /** `moneyKey(gatewayPaymentId, 'transfer')`, the same for hold and release. */
  idempotencyKey: string;
  /** The number of failed transfers of the payment that are known. Another one may be made after these. */
  knownFailures: number;
  beforeMoving: BeforeMoving;
}

export interface RefundInput {
  gatewayPaymentId: string;
  amountPaise: number;
  /** `moneyKey(gatewayPaymentId, 'refund')`. */
  idempotencyKey: string;
  /** True if a hold was tried. Its transfer is then taken back, even if the gateway lists it only later. */
  mayBeTransferred: boolean;
  beforeMoving: BeforeMoving;
  /** The gateway stores it, so it must contain no personal data. */
  reason: string;
}

/**
 * Every method except `parseCallback` throws only `GatewayUnavailable`, `GatewayRefused` or what `beforeMoving`
 * throws. A method that moves money first looks for an earlier result at the gateway, and looks again if the outcome
 * is unknown, so every call may be repeated.
 */
export interface PaymentGateway {
  /**
   * Opens a payment session for one payment of exactly this amount. If the response is lost, the
   * session is not looked up: no buyer has its QR code, so it cannot be paid, and it expires.
   */
  openSession(input: OpenSessionInput): Promise<OpenedSession>;
  /**
   * Closes the session if it is open, and returns its payments as the list does. Takes at most 4 s.
   *
   * @throws GatewayUnavailable also if it is paid, and its payment is not listed yet
   */
  closeSession(gatewaySessionId: string): Promise<GatewayPayment[]>;
  fetchSession(gatewaySessionId: string): Promise<GatewaySession>;
  /** Lists the sessions opened since this time (Unix milliseconds), newest first. */
  listSessions(sinceMs: number): Promise<GatewaySession[]>;
  /** Lists all payments, including failed ones, newest first. */
  listSessionPayments(gatewaySessionId: string): Promise<GatewayPayment[]>;
  fetchPayment(gatewayPaymentId: string): Promise<GatewayPayment>;
  /** Finds the session that a payment was made on. Undefined for a payment without a session. */
  fetchSessionOfPayment(gatewayPaymentId: string): Promise<GatewaySession | undefined>;
  /** Lists all refunds, including failed ones and those made at the gateway itself, newest first. */
  listRefunds(gatewayPaymentId: string): Promise<RefundOrChargeback[]>;
  /** Lists the newest 100 chargebacks of all payments, newest first. */
  listNewestChargebacks(): Promise<RefundOrChargeback[]>;
  fetchChargeback(reversalId: string): Promise<RefundOrChargeback>;
  /** Reads the money of a payment in the merchant's linked account, held and released. */
  fetchTransferred(gatewayPaymentId: string): Promise<TransferredFunds>;
  /** The reference of a payout at banks. Null until the gateway reports it. */
  fetchPayoutUtr(payoutId: string): Promise<string | null>;
  /**
   * Transfers the funds of a captured payment to the linked account on hold.
   *
   * @throws GatewayRefused if a transfer with the same key went to another account; TransferFailed once for each
   * transfer that failed later, and the next call makes another one
   */
  holdFunds(input: TransferInput): Promise<GatewayTransfer>;
  /**
   * Releases the funds to the merchant, whether they were held before or not. It is done when the state is
   * `released`.
   *
   * @throws TransferFailed as {@link holdFunds}
   */
  releaseFunds(input: TransferInput): Promise<GatewayTransfer>;
  /** Takes back the money on hold for the merchant to the platform's balance. Does nothing if none is on hold. */
  takeBackHeld(input: Pick<TransferInput, 'gatewayPaymentId' | 'beforeMoving'>): Promise<void>;
  /**
   * Refunds the buyer, from the linked account if the money is there. It is done when the state is `processed`. If a
   * refund fails after it was accepted, it throws, and the next call makes a new one.
   */
  refund(input: RefundInput): Promise<RefundOrChargeback>;
  /**
   * Opens an account for a merchant's payouts, or returns the one with the same email and name. Only sandbox accounts
   * are opened, so the adapter invents what else its gateway requires of one, such as an address.
   */
  createLinkedAccount(input: { email: string; name: string }): Promise<{ linkedAccountId: string }>;
  /** @throws GatewayRefused with the code `NO_SUCH_ACCOUNT` for an unknown id */
  fetchLinkedAccount(linkedAccountId: string): Promise<GatewayLinkedAccount>;
  /**
   * Pays an open session as its buyer would. Only the sandbox supports this.
   *
   * @param options.isLate accepts a session that is paid or closed, because a bank may be late
   * @throws GatewayRefused also when the session is paid or closed already
   */
  payAsBuyer(gatewaySessionId: string, options?: { isLate: boolean }): Promise<void>;
  /** Opens a chargeback as the buyer's bank would, or ends the payment's open one. Only the sandbox supports this. */
  chargeBackAsBank(
    gatewayPaymentId: string,
    outcome: 'open' | 'won' | 'lost',
  ): Promise<RefundOrChargeback>;
  /** Makes this service's processed refund of a payment fail. Only the sandbox supports this. */
  failRefundAsBank(gatewayPaymentId: string): Promise<void>;
  /** Never throws. It checks the signature over the raw bytes of the body. */
  parseCallback(rawBody: Uint8Array, headers: CallbackHeaders): CallbackResult;
}
