import { join } from 'node:path';
import { createGatewaySimulator } from './gateway-simulator/simulator.ts';
import { required } from '../src/config.ts';
import { listenOn } from '../src/main/listen.ts';
import { runMain, stopRequested } from '../src/main/process.ts';

/** A UPI gateway for the sandbox: a server of its own, which the service knows only over HTTP. */
await runMain({ name: 'gateway-simulator' }, async (config, log) => {
  const { keyId, keySecret, webhookSecret } = config.razorpay.sandbox;
  const options = {
    publicUrl: config.gatewaySimulatorPublicUrl,
    keyId: required(keyId, 'SANDBOX_RAZORPAY_KEY_ID', 'a non-empty text'),
    keySecret: required(keySecret, 'SANDBOX_RAZORPAY_KEY_SECRET', 'a non-empty text'),
    webhookSecret: required(webhookSecret, 'SANDBOX_RAZORPAY_WEBHOOK_SECRET', 'a non-empty text'),
    callbackUrl: config.gatewaySimulatorCallbackUrl,
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
});
