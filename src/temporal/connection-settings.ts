import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { z } from 'zod';
import { ConfigError, faulty, readSettings, setting, text, valueNameOf } from '../settings.ts';
import type { TemporalSecurity } from './client.ts';

const PEM_FILE = 'the path of a PEM file';
const SWITCH = ['true', 'false', '1', '0'] as const;

/**
 * The settings for the security of the connection, with the names and the meaning that Temporal's own programs and
 * SDKs give them (envconfig). Their other settings have no effect here: certificates are files, so that a replaced
 * one has the same settings, and the server's certificate is always verified.
 */
export const CONNECTION_SETTINGS = {
  TEMPORAL_API_KEY: text(undefined, {
    accepts: 'an API key',
    secret: true,
    description:
      "sent to Temporal with each call, as Temporal Cloud's authentication requires; it switches TLS on unless `TEMPORAL_TLS` says otherwise",
  }),
  TEMPORAL_TLS: setting(z.enum(SWITCH), undefined, {
    accepts: 'true or false',
    description: 'whether the connection to Temporal uses TLS, with the public roots',
    byDefault: 'on if another `TEMPORAL_TLS_` setting or `TEMPORAL_API_KEY` is given',
  }),
  TEMPORAL_TLS_CLIENT_CERT_PATH: text(undefined, {
    accepts: PEM_FILE,
    description: 'the certificate with which the service authenticates itself to Temporal (mTLS)',
  }),
  TEMPORAL_TLS_CLIENT_KEY_PATH: text(undefined, {
    accepts: PEM_FILE,
    description: 'the private key of that certificate',
  }),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: text(undefined, {
    accepts: PEM_FILE,
    description:
      "the authorities that may have issued Temporal's certificate, instead of the public ones",
  }),
  TEMPORAL_TLS_SERVER_NAME: text(undefined, {
    matches: /^[\w.-]+$/,
    accepts: 'a host name',
    description: "the name in Temporal's certificate",
    byDefault: 'the host of `TEMPORAL_ADDRESS`',
  }),
};

type Name = keyof typeof CONNECTION_SETTINGS;
type Values = ReturnType<typeof readSettings<typeof CONNECTION_SETTINGS>>;

const CERTIFICATE = 'TEMPORAL_TLS_CLIENT_CERT_PATH';
const KEY = 'TEMPORAL_TLS_CLIENT_KEY_PATH';
const AUTHORITIES = 'TEMPORAL_TLS_SERVER_CA_CERT_PATH';

/** Refuses half of a pair, which the SDK would ignore. */
function requireWhole(values: Values): void {
  const isGiven = (name: Name) => values[valueNameOf(name)] !== undefined;
  if (isGiven(CERTIFICATE) === isGiven(KEY)) return;
  const missing = isGiven(CERTIFICATE) ? KEY : CERTIFICATE;
  throw faulty(missing, CONNECTION_SETTINGS[missing], 'missing');
}

/** Refuses settings that `parse` cannot use. */
function requireUsable(names: readonly Name[], parse: () => unknown): void {
  try {
    parse();
  } catch (error) {
    throw new ConfigError(`${names.join(' and ')} cannot be used: ${(error as Error).message}`);
  }
}

function load(values: Values): TemporalSecurity {
  const names = Object.keys(CONNECTION_SETTINGS) as Name[];
  const given = names.flatMap((name) => {
    const value = values[valueNameOf(name)];
    return value === undefined ? [] : [[name, value] as const];
  });
  try {
    const { connectionOptions } = loadClientConnectConfig({
      disableFile: true,
      overrideEnvVars: Object.fromEntries(given),
    });
    const { tls, apiKey } = connectionOptions;
    return {
      ...(tls != null && { tls }),
      ...(typeof apiKey === 'string' && { apiKey }),
    };
  } catch (error) {
    const { path, message } = error as NodeJS.ErrnoException;
    const [name = 'TEMPORAL_TLS'] = given.find(([, value]) => value === path) ?? [];
    throw new ConfigError(`${name} is wrong: it accepts ${PEM_FILE} (${message})`);
  }
}

/**
 * Reads the security of the connection to Temporal, including the files that the settings name.
 *
 * @throws ConfigError in one line when a setting is wrong, half of a pair, or names an unusable file
 */
export function readTemporalSecurity(env: NodeJS.ProcessEnv): TemporalSecurity {
  const values = readSettings(CONNECTION_SETTINGS, env);
  requireWhole(values);
  const security = load(values);
  const { tls } = security;
  if (typeof tls !== 'object' || tls === null) return security;
  const { clientCertPair: pair, serverRootCACertificate: authorities } = tls;
  if (pair) {
    const [cert, key] = [Buffer.from(pair.crt), Buffer.from(pair.key)];
    // Also checks that the key belongs to the certificate.
    requireUsable([CERTIFICATE, KEY], () => createSecureContext({ cert, key }));
  }
  if (authorities) {
    requireUsable([AUTHORITIES], () => new X509Certificate(authorities));
  }
  return security;
}
