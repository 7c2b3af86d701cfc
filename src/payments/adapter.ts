import type { Logger } from 'pino';
import type { Environment } from '../domain/index.ts';
import type { Settings, WholeOf } from '../settings.ts';
import type { PaymentGateway } from './gateway.ts';

/** Where each call to a gateway is reported; pino fits. */
export type CallLog = Pick<Logger, 'info' | 'warn'>;

/** What an adapter gets beside its settings. */
export interface GatewayOptions {
  /** For each call, connecting and reading included. */
  timeoutMs: number;
  /** Gets a line about each call. */
  log: CallLog;
}

/** How a gateway calls back; what it says is for {@link PaymentGateway.parseCallback}. */
export interface CallbackForm {
  /** The path that it calls, before `/sandbox` or `/production`. */
  readonly path: `/${string}`;
  /** The header with the signature, in the gateway's own spelling. */
  readonly signatureHeader: string;
  /** The other headers that tell a callback, such as the one with the event's id. */
  readonly otherHeaders: readonly string[];
}

/**
 * A payment gateway, as the service knows it: one folder of `src/payments` exports one, and
 * `src/payments/adapters.ts` lists it.
 */
export interface GatewayAdapter<Group extends Settings = Settings> {
  /** Kept with every order and payment, so it never changes: lower-case letters and digits. */
  readonly name: string;
  /** Its variables, by what comes after `SANDBOX_<NAME>_` or `PRODUCTION_<NAME>_`. */
  settings(environment: Environment): Group;
  readonly callback: CallbackForm;
  /**
   * The gateway of one environment. What this needs is imported by it: every command of operators
   * imports the adapter for its settings, and few of them call a gateway.
   */
  create(settings: WholeOf<Group>, options: GatewayOptions): Promise<PaymentGateway>;
}
