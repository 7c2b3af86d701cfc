import { join } from 'node:path';
import { createGatewaySimulator } from './gateway-simulator/simulator.ts';
import { loadDevConfig } from './config.ts';
import { listenOn } from '../src/main/process/listen.ts';
import { runMain, stopRequested } from '../src/main/process/process.ts';
import { razorpaySettings } from '../src/payments/razorpay/settings.ts';
import { faulty } from '../src/settings.ts';

/** The events of docs/go-live.md. Others are ignored by the service, and cost a row each. */
const CALLBACK_EVENTS = [
  'payment.captured',
  'payment.failed',
  'qr_code.credited',
  'qr_code.closed',
  'refund.processed',
  'refund.failed',
  'transfer.failed',
  'payment.dispute.created',
  'payment.dispute.under_review',
  'payment.dispute.action_required',
  'payment.dispute.won',
  'payment.dispute.lost',
  'payment.dispute.closed',
];

/** The simulated UPI gateway of the sandbox: a separate server, which the service calls over HTTP. */
await runMain(
  {
    name: 'gateway-simulator',
    does: 'Serves the simulated UPI gateway of the sandbox.',
    load: loadDevConfig,
  },
  async (config, log) => {
    const { razorpay } = config.gateways.sandbox;
    const { KEY_ID } = razorpaySettings('sandbox');
    if (razorpay === undefined) throw faulty('SANDBOX_RAZORPAY_KEY_ID', KEY_ID, 'missing');
    const { keyId, keySecret, webhookSecret } = razorpay;
    const options = {
      keyId,
      keySecret,
      webhookSecret,
      publicUrl: config.gatewaySimulatorPublicUrl,
      callbackUrl: config.gatewaySimulatorCallbackUrl,
      callbackEvents: CALLBACK_EVENTS,
      dataFile: join(config.dataDir, 'gateway-simulator.journal'),
      log,
    };
    const { host, gatewaySimulatorPort: port } = config;
    const simulator = await listenOn({ host, port, variable: 'GATEWAY_SIMULATOR_PORT' }, (place) =>
      createGatewaySimulator({ ...options, ...place }),
    );
    process.send?.('ready');
    await stopRequested();
    await simulator.close();
  },
);
