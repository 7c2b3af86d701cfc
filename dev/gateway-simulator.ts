import { SERVICE_EVENTS } from './gateway-simulator/callbacks/service-events.ts';
import { createGatewaySimulator } from './gateway-simulator/simulator.ts';
import { loadDevConfig } from './config.ts';
import { simulatorJournal } from './dev-facts.ts';
import { localUrl } from './processes/ports.ts';
import { listenOn } from '../src/main/process/listen.ts';
import { runMain, stopRequested } from '../src/main/process/process.ts';
import { razorpaySettings } from '../src/payments/razorpay/adapter.ts';
import { faulty } from '../src/settings.ts';

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
    const { host, gatewaySimulatorPort: port } = config;
    const options = {
      keyId,
      keySecret,
      webhookSecret,
      publicUrl: localUrl(host, port),
      callbackUrl: config.gatewaySimulatorCallbackUrl,
      callbackEvents: SERVICE_EVENTS,
      dataFile: simulatorJournal(config.dataDir),
      log,
    };
    const simulator = await listenOn({ host, port, variable: 'PORT_OFFSET' }, (place) =>
      createGatewaySimulator({ ...options, ...place }),
    );
    process.send?.('ready');
    await stopRequested();
    await simulator.close();
  },
);
