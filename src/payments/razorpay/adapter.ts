import type { Environment } from '../../domain/index.ts';
import { text, webAddress } from '../../settings.ts';
import type { GatewayAdapter } from '../gateway/adapter.ts';
import { EVENT_ID_HEADER, SIGNATURE_HEADER } from './callbacks.ts';

/** The settings of Razorpay in an environment, named without the prefix `SANDBOX_RAZORPAY_`. */
export const razorpaySettings = (environment: Environment) => ({
  BASE_URL: webAddress('where its API is: `https://api.razorpay.com`', {
    // The sandbox may use the gateway simulator, which does not support https.
    secure: environment === 'production',
  }),
  KEY_ID: text(undefined, {
    accepts: 'the id of a key of the gateway',
    description: 'the API key of the service',
  }),
  KEY_SECRET: text(undefined, {
    accepts: 'the secret of that key',
    description: 'the secret of the API key',
    secret: true,
  }),
  WEBHOOK_SECRET: text(undefined, {
    accepts: 'the secret that the gateway signs its callbacks with',
    description: 'the key of the signatures of callbacks',
    secret: true,
  }),
});

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
