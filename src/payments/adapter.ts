import type { Logger } from 'pino';
import type { Environment } from '../domain/index.ts';
import type { Settings, WholeOf } from '../settings.ts';
import type { PaymentGateway } from './gateway.ts';

/** The log of gateway calls; a pino logger fits. */
export type CallLog = Pick<Logger, 'info' | 'warn'>;

/** What an adapter gets beside its settings. */
export interface GatewayOptions {
  /** For each call, connecting and reading included. */
  timeoutMs: number;
  /** Gets a line about each call. */
  log: CallLog;
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
 * What a payment gateway brings: a folder of `src/payments` exports it, and
 * `src/payments/adapters.ts` lists it.
 */
export interface GatewayAdapter<Group extends Settings = Settings> {
  /** Kept with every order and payment, so it never changes: lower-case letters and digits. */
  readonly name: string;
  /** Its variables, by what comes after `SANDBOX_<NAME>_` or `PRODUCTION_<NAME>_`. */
  settings(environment: Environment): Group;
  readonly callback: CallbackForm;
  /**
   * The gateway of one environment. It imports its modules when it is called: every command of
   * operators imports the adapter for its settings, and few of them call a gateway.
   */
  create(settings: WholeOf<Group>, options: GatewayOptions): Promise<PaymentGateway>;
}
