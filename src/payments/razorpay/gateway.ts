import { Agent } from 'undici';
import type { PaymentGateway } from '../gateway/gateway.ts';
import { createCallbackParser } from './callbacks.ts';
import type { ClientOptions } from './client.ts';
import { createRazorpayClient, valueOf } from './client.ts';
import { createChargebacks } from './chargebacks.ts';
import { createLinkedAccounts } from './linked-accounts.ts';
import { presentPayment } from './present.ts';
import { createRefunds } from './refunds.ts';
import { paymentSchema } from './schemas.ts';
import { createSandboxBank } from './sandbox-bank.ts';
import { createSessions } from './sessions.ts';
import { createTransfers } from './transfers.ts';

export interface RazorpayGatewayOptions extends Omit<ClientOptions, 'timeoutMs' | 'dispatcher'> {
  webhookSecret: string;
  /** The limit for each call, including connecting and reading; 10 s by default. */
  timeoutMs?: number;
  /** The limit for all calls of `closeSession` together; 4 s by default. */
  closeTimeoutMs?: number;
}

/** Razorpay behind the port; `close` ends its connections once the running calls have ended. */
type RazorpayGateway = PaymentGateway & { close(): Promise<void> };

/**
 * Implements the port with Razorpay's public API: UPI QR codes as sessions, refunds, and Route
 * transfers with `on_hold` for the funds. The gateway simulator has the same API, so the sandbox
 * uses this adapter too.
 */
export function createRazorpayGateway(options: RazorpayGatewayOptions): RazorpayGateway {
  const { timeoutMs = 10_000, closeTimeoutMs = 4_000 } = options;
  const dispatcher = new Agent({ connect: { timeout: timeoutMs } });
  const client = createRazorpayClient({ ...options, timeoutMs, dispatcher });
  return {
    ...createSessions(client, closeTimeoutMs),
    ...createTransfers(client),
    ...createRefunds(client),
    ...createChargebacks(client),
    ...createLinkedAccounts(client, timeoutMs),
    ...createSandboxBank(client),
    ...createCallbackParser(options.webhookSecret),

    async fetchPayment(gatewayPaymentId) {
      const path = `/v1/payments/${encodeURIComponent(gatewayPaymentId)}`;
      const answer = await client.call({ method: 'GET', path }, paymentSchema);
      return presentPayment(valueOf('fetchPayment', answer));
    },

    close: () => dispatcher.close(),
  };
}
