import { z } from 'zod';
import type { PaymentGateway } from '../gateway.ts';
import type { RazorpayClient } from './client.ts';
import { valueOf } from './client.ts';

/** The UPI address with which Razorpay's test mode lets a payment succeed. */
const PAYING_VPA = 'success@razorpay';

/** Pays as the sandbox's buyer, at the gateway simulator: Razorpay's API cannot do this. */
export function createBuyer(client: RazorpayClient): Pick<PaymentGateway, 'payAsBuyer'> {
  return {
    async payAsBuyer(gatewaySessionId) {
      const path = `/simulator/qr_codes/${encodeURIComponent(gatewaySessionId)}/pay`;
      const call = { method: 'POST', path, body: { vpa: PAYING_VPA } } as const;
      valueOf('payAsBuyer', await client.call(call, z.unknown()));
    },
  };
}
