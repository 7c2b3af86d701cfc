import type { GatewayAdapter } from './adapter.ts';
import { razorpay } from '../razorpay/adapter.ts';

/** The gateways that orders can be paid through. A row of `merchants` names the merchant's gateway. */
export const GATEWAY_ADAPTERS = [razorpay] as const satisfies readonly GatewayAdapter[];
