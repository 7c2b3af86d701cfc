import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createGatewaySimulator } from '../gateway-simulator/simulator.ts';
import { createAuthority } from '../processes/certificates.ts';

const HOST = '127.0.0.1';
const KEYS = {
  keyId: 'rzp_live_simulator',
  keySecret: 'the secret of production in a run',
  webhookSecret: 'the webhook secret of production in a run',
};

/**
 * Starts a simulator in this process as the gateway of production. The settings require https there, so that a server
 * with a certificate of its own stands before it; this process trusts the certificate from then on.
 *
 * @param folder for the certificates
 * @param publicBaseUrl of the service, for callbacks
 * @returns the settings with which the service uses it, and its end
 */
export async function startProductionGateway(folder: string, publicBaseUrl: string) {
  const simulator = await createGatewaySimulator({
    ...KEYS,
    port: 0,
    callbackUrl: `${publicBaseUrl}/callbacks/razorpay/production`,
  });
  const authority = createAuthority(folder, 'authority-of-the-gateway');
  const { certFile, keyFile } = authority.issue('gateway', `IP:${HOST}`);
  const { port: simulatorPort } = new URL(simulator.url);
  const server = createServer(
    { cert: readFileSync(certFile), key: readFileSync(keyFile) },
    (socket) => {
      const inner = connect(Number(simulatorPort), HOST);
      socket.on('error', () => inner.destroy()).pipe(inner);
      inner.on('error', () => socket.destroy()).pipe(socket);
    },
  ).listen(0, HOST);
  await once(server, 'listening');
  setDefaultCACertificates([
    ...getCACertificates('default'),
    readFileSync(authority.certFile, 'utf8'),
  ]);
  const { port } = server.address() as AddressInfo;
  return {
    settings: {
      PRODUCTION_RAZORPAY_BASE_URL: `https://${HOST}:${port}`,
      PRODUCTION_RAZORPAY_KEY_ID: KEYS.keyId,
      PRODUCTION_RAZORPAY_KEY_SECRET: KEYS.keySecret,
      PRODUCTION_RAZORPAY_WEBHOOK_SECRET: KEYS.webhookSecret,
      NODE_EXTRA_CA_CERTS: authority.certFile,
      // Several changes of an account become active within a run.
      LINKED_ACCOUNT_CHANGE_SECONDS: '5',
    },
    async stop() {
      server.close();
      await simulator.close();
    },
  };
}
