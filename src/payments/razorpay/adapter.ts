import type { GatewayAdapter } from '../gateway/adapter.ts';
import { EVENT_ID_HEADER, SIGNATURE_HEADER } from './callbacks.ts';
import { razorpaySettings } from './settings.ts';

/** The adapter for Razorpay, and for the gateway simulator, which implements Razorpay's HTTP API. */
export const razorpay = {
  name: 'razorpay',
  settings: razorpaySettings,
  callback: {
    path: '/callbacks/razorpay',
    signatureHeader: SIGNATURE_HEADER,
    otherHeaders: [EVENT_ID_HEADER],
  },
  async create(settings, options) {
    const { createRazorpayGateway } = await import('./gateway.ts');
    return createRazorpayGateway({ ...settings, ...options });
  },
} as const satisfies GatewayAdapter<ReturnType<typeof razorpaySettings>>;
