import type { Environment } from '../domain/index.ts';
import type { PaymentGateway } from './gateway.ts';
import { GatewayUnavailable } from './gateway.ts';

/** The gateway of each environment; null where none is configured. Nothing is ever simulated. */
export type Gateways = Readonly<Record<Environment, PaymentGateway | null>>;

/** @throws GatewayUnavailable where none is configured */
export function gatewayOf(gateways: Gateways, environment: Environment): PaymentGateway {
  const gateway = gateways[environment];
  if (!gateway) throw new GatewayUnavailable('gateway', `none is configured for ${environment}`);
  return gateway;
}
