import type { Logger } from 'pino';
import type { Environment } from '../../domain/index.ts';
import type { Settings, WholeOf } from '../../settings.ts';
import type { PaymentGateway } from './gateway.ts';

/** Receives log lines of gateway calls; a pino logger fits. */
export type CallLog = Pick<Logger, 'info' | 'warn'>;

/**
 * A request to a gateway's API and its answer, with personal data of buyers. Headers are left out, because they
 * contain the keys.
 */
export interface GatewayExchange {
  method: string;
  /** Without the address of the API and without the query. */
  path: string;
  query: Readonly<Record<string, string | number>>;
  /** Null if it had no body. */
  request: unknown;
  /** The HTTP status. Null if no answer came. */
  status: number | null;
  /** The body of the answer. Null if no answer came, or one that is not JSON. */
  answer: unknown;
}

export interface GatewayOptions {
  /** The limit for each call, including connecting and reading. */
  timeoutMs: number;
  log: CallLog;
  /** Raises an alert about a part of an answer that is left out because its form is unknown. */
  onNotUnderstood: (operation: string, cause: Error) => Promise<void>;
  /** Receives each exchange with the gateway's API when it has ended, to record it. */
  onAnswer?: ((exchange: GatewayExchange) => void) | undefined;
}

/** Where a gateway sends callbacks, and which of their headers `parseCallback` reads. */
export interface CallbackForm {
  /** The path of the callbacks, before `/sandbox` or `/production`. */
  readonly path: `/${string}`;
  /** The header with the signature, in the gateway's spelling. */
  readonly signatureHeader: string;
  /** The other headers, such as the one with the event's id. */
  readonly otherHeaders: readonly string[];
}

/**
 * What a payment gateway provides. A folder of `src/payments` exports it, and
 * `src/payments/gateway/adapters.ts` lists it.
 */
export interface GatewayAdapter<Group extends Settings = Settings> {
  /** Lower-case letters and digits. It is stored with every order and payment, so it never changes. */
  readonly name: string;
  /** Its settings, named without the prefix `SANDBOX_<NAME>_` or `PRODUCTION_<NAME>_`. */
  settings(environment: Environment): Group;
  readonly callback: CallbackForm;
  /**
   * Creates the gateway of one environment. It imports the gateway's modules only when it is
   * called: every admin command imports the adapter for its settings, but few call a gateway.
   */
  create(settings: WholeOf<Group>, options: GatewayOptions): Promise<PaymentGateway>;
}
