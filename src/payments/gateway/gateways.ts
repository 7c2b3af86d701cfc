import type { Logger } from 'pino';
import type { AlertDeps } from '../../alerts/alerts.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import type { Sql } from '../../db/client.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/index.ts';
import type { Settings, WholeOf } from '../../settings.ts';
import type { GatewayAdapter, GatewayOptions } from './adapter.ts';
import type { PaymentGateway } from './gateway.ts';
import { GatewayUnavailable } from './gateway.ts';
import { alertNotUnderstood, observedGateway } from './observed-gateway.ts';

/** Identifies the gateway and environment of an order, its payments, sessions and refunds. */
export interface GatewayRef {
  /** The name of the gateway's adapter. */
  gateway: string;
  environment: Environment;
}

export interface ConfiguredGateway extends GatewayRef {
  port: PaymentGateway;
}

/** The configured gateways. A gateway that is not configured is never simulated. */
export interface Gateways {
  /** The gateway of an order, which never changes. @throws GatewayUnavailable if it is not configured */
  forOrder(order: GatewayRef): PaymentGateway;
  /** The same, but null if it is not configured. */
  find(order: GatewayRef): PaymentGateway | null;
  readonly all: readonly ConfiguredGateway[];
}

export interface GatewayDeps {
  sql: Sql;
  gateways: Gateways;
  log: Logger;
}

/** The settings of every gateway, by environment and name. Undefined if it is not configured. */
export type GatewaySettings = Readonly<
  Record<Environment, Readonly<Record<string, WholeOf<Settings> | undefined>>>
>;

/**
 * Creates the gateway of each adapter and environment that has settings.
 *
 * @param deps used to raise alerts about answers that an adapter does not understand
 * @param options what every adapter receives besides its settings
 */
export async function createGateways(
  deps: AlertDeps,
  adapters: readonly GatewayAdapter[],
  settings: GatewaySettings,
  options: Omit<GatewayOptions, 'onNotUnderstood'>,
): Promise<Gateways> {
  const all: ConfiguredGateway[] = [];
  for (const environment of ENVIRONMENTS) {
    for (const adapter of adapters) {
      const given = settings[environment][adapter.name];
      if (given === undefined) continue;
      const at = { gateway: adapter.name, environment };
      const onNotUnderstood = alertNotUnderstood(deps, at);
      const created = await adapter.create(given, { ...options, onNotUnderstood });
      const port = observedGateway(deps, created, at);
      all.push({ ...at, port });
    }
  }
  const find = ({ gateway, environment }: GatewayRef) =>
    all.find((one) => one.gateway === gateway && one.environment === environment)?.port ?? null;
  return {
    all,
    find,
    forOrder(order) {
      const port = find(order);
      if (port) return port;
      const { gateway, environment } = order;
      throw new GatewayUnavailable('gateway', `${gateway} is not configured for ${environment}`);
    },
  };
}

export function paymentSubject({ gateway, gatewayPaymentId }: PaymentRef): string {
  return gatewaySubject(gateway, gatewayPaymentId);
}

/** `gateway:id`, for alerts and lists, because ids are unique at one gateway only. */
export function gatewaySubject(gateway: string, id: string): string {
  return `${gateway}:${id}`;
}
