import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, inject, onTestFinished, test } from 'vitest';
import { freePortSettings } from '../../dev/processes/ports.ts';
import { runPart } from '../support/run-part.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Complete settings; their servers need not be reachable before the port is taken. */
const SETTINGS = {
  DATABASE_URL: 'postgres://127.0.0.1:1/none',
  TEMPORAL_ADDRESS: '127.0.0.1:1',
  API_SECRET_PEPPER: 'x'.repeat(32),
  WEBHOOK_SECRET_KEYS: `a:${'A'.repeat(43)}=`,
  DATA_ENCRYPTION_KEYS: `a:${'A'.repeat(43)}=`,
  SANDBOX_RAZORPAY_BASE_URL: 'http://127.0.0.1:1',
  SANDBOX_RAZORPAY_KEY_ID: 'rzp_test_x',
  SANDBOX_RAZORPAY_KEY_SECRET: 'x',
  SANDBOX_RAZORPAY_WEBHOOK_SECRET: 'x',
  LOG_LEVEL: 'silent',
};

async function busyPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

test.each([
  ['src/main/api.ts', 'PORT'],
  ['dev/gateway-simulator.ts', 'GATEWAY_SIMULATOR_PORT'],
  ['dev/mailbox.ts', 'MAILBOX_PORT'],
  ['dev/mailbox.ts', 'MAILBOX_SMTP_PORT'],
  ['src/main/worker.ts', 'METRICS_PORT'],
])(
  '%s alone reports in one line that its port is busy and which variable changes it: %s',
  async (part, variable) => {
    const port = await busyPort();
    // Another port of the part may be busy too, while `npm start` runs on this machine.
    const WORKFLOW_BUNDLE = inject('workflowBundlePath');
    const settings = { ...SETTINGS, WORKFLOW_BUNDLE, ...(await freePortSettings()) };
    const env = { ...settings, DATA_DIR: temporaryFolder(), [variable]: String(port) };
    const stderr = `Port ${port} is already in use: stop what uses it, or set ${variable} to another port\n`;
    expect(await runPart(part, env)).toEqual({ code: 1, stdout: '', stderr });
  },
);
