import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, inject, onTestFinished, test } from 'vitest';
import { loadDevConfig } from '../../dev/config.ts';
import { freePort, freePortSettings } from '../../dev/processes/ports.ts';
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

async function occupy(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
}

test.each([
  ['src/main/api.ts', 'port', 'PORT'],
  ['dev/gateway-simulator.ts', 'gatewaySimulatorPort', 'PORT_OFFSET'],
  ['dev/mailbox.ts', 'mailboxPort', 'PORT_OFFSET'],
  ['dev/mailbox.ts', 'mailboxSmtpPort', 'PORT_OFFSET'],
  ['src/main/worker.ts', 'metricsPort', 'METRICS_PORT'],
] as const)(
  '%s alone reports in one line that its %s is busy and which variable changes it: %s',
  async (part, name, variable) => {
    const WORKFLOW_BUNDLE = inject('workflowBundlePath');
    const ports = { ...(await freePortSettings()), METRICS_PORT: String(await freePort()) };
    const env = { ...SETTINGS, WORKFLOW_BUNDLE, ...ports, DATA_DIR: temporaryFolder() };
    const port = loadDevConfig(env)[name] ?? 0;
    await occupy(port);
    const stderr = `Port ${port} is already in use: stop what uses it, or set ${variable} to another number\n`;
    expect(await runPart(part, env)).toEqual({ code: 1, stdout: '', stderr });
  },
);
