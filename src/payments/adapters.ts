import type { GatewayAdapter } from './adapter.ts';
import { razorpay } from './razorpay/adapter.ts';

/** The gateways that orders can be paid through; a merchant's is in its row of `merchants`. */
export const GATEWAY_ADAPTERS = [razorpay] as const satisfies readonly GatewayAdapter[];
