import { join } from 'node:path';
import type { DevConfig } from '../config.ts';
import { cacheRoot } from '../files/cache.ts';
import { localUrl, LOOPBACK } from '../processes/ports.ts';
import type { Secrets } from './secrets.ts';

/** The addresses of the servers of this run, started by it or given in the settings. */
export interface Servers {
  /** For the API, the worker and `admin`: may change rows, not tables. */
  readonly databaseUrl: string;
  /** For migrations: owns the tables. Undefined when DATABASE_URL is given without it. */
  readonly migrationDatabaseUrl: string | undefined;
  readonly temporalAddress: string;
  /** Only of `npm start`, and not when TEMPORAL_ADDRESS is given. */
  readonly temporalUiUrl?: string | undefined;
}

/** Whether the sandbox uses the simulator: unless a gateway is configured for it. */
export function simulatesGateway({ gateways }: DevConfig): boolean {
  return gateways.sandbox.razorpay === undefined;
}

/** Whether mails stay on this machine: unless an SMTP server is configured. */
export function keepsMails({ mail }: DevConfig): boolean {
  return mail === undefined;
}

/** Allows webhook receivers on this machine. */
const LOOPBACK_CIDRS = '127.0.0.0/8,::1/128';

/** The ports of the servers of this machine, which no webhook may reach. */
function ownPorts(config: DevConfig): number[] {
  const { gatewaySimulatorPort, mailboxPort, mailboxSmtpPort } = config;
  const ofTemporal = [config.temporalUiPort, config.temporalPort];
  return [gatewaySimulatorPort, mailboxPort, mailboxSmtpPort, ...ofTemporal, config.postgresPort];
}

/** The settings that all processes of the service must agree on. */
export function sharedEnvironment(
  config: DevConfig,
  servers: Servers,
  secrets: Secrets,
): Record<string, string> {
  return {
    DATA_DIR: config.dataDir,
    HOST: config.host,
    PORT: String(config.port),
    PORT_OFFSET: String(config.portOffset),
    PUBLIC_BASE_URL: config.publicBaseUrl,
    DATABASE_URL: servers.databaseUrl,
    TEMPORAL_ADDRESS: servers.temporalAddress,
    TEMPORAL_NAMESPACE: config.temporalNamespace,
    TEMPORAL_HOUSEKEEPING_NAMESPACE: config.temporalHousekeepingNamespace,
    API_SECRET_PEPPER: config.apiSecretPepper ?? secrets.API_SECRET_PEPPER,
    WEBHOOK_SECRET_KEYS: config.webhookSecretKeys ?? secrets.WEBHOOK_SECRET_KEYS,
    DATA_ENCRYPTION_KEYS: config.dataEncryptionKeys ?? secrets.DATA_ENCRYPTION_KEYS,
    WEBHOOK_ALLOWED_CIDRS: config.webhookAllowedCidrsGiven
      ? config.webhookAllowedCidrs.join(',')
      : LOOPBACK_CIDRS,
    WEBHOOK_DENIED_PORTS: [...config.webhookDeniedPorts, ...ownPorts(config)].join(','),
    SUPPORT_EMAIL: config.supportEmail ?? 'support@example.com',
    ...(servers.temporalUiUrl !== undefined && { TEMPORAL_UI_URL: servers.temporalUiUrl }),
    ...(keepsMails(config) && mailboxEnvironment(config)),
    ...(simulatesGateway(config) && simulatorEnvironment(config, secrets)),
  };
}

/** The service sends its mails to the mailbox, without encryption on this machine. */
function mailboxEnvironment(config: DevConfig): Record<string, string> {
  return {
    SMTP_URL: `smtp://${LOOPBACK}:${config.mailboxSmtpPort}?ignoreTLS=true`,
    MAIL_FROM: 'Merchant Payments <no-reply@localhost>',
    SANDBOX_MAILS: 'on',
  };
}

/** The settings of the sandbox's gateway, shared by the service and the simulator. */
function simulatorEnvironment(config: DevConfig, secrets: Secrets): Record<string, string> {
  return {
    SANDBOX_RAZORPAY_BASE_URL: localUrl(config.host, config.gatewaySimulatorPort),
    SANDBOX_RAZORPAY_KEY_ID: 'rzp_test_simulator',
    SANDBOX_RAZORPAY_KEY_SECRET: secrets.SIMULATOR_KEY_SECRET,
    SANDBOX_RAZORPAY_WEBHOOK_SECRET: secrets.SIMULATOR_WEBHOOK_SECRET,
  };
}

/** Keeps Node's compiled code for the next start, which saves about one second of six. */
export function compileCache(): NodeJS.ProcessEnv {
  return { NODE_COMPILE_CACHE: join(cacheRoot(), 'node-compile-cache') };
}
