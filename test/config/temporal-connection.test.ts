import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig, temporalServerOf } from '../../src/config.ts';
import { ConfigError } from '../../src/settings.ts';
import { openTemporal } from '../../src/main/process/temporal.ts';
import { usesTls } from '../../src/temporal/client.ts';
import { createAuthority } from '../../dev/processes/certificates.ts';
import { keepingLog } from '../support/kept-log.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const serverOf = (env: Record<string, string>) =>
  temporalServerOf(loadConfig({ TEMPORAL_ADDRESS: 'temporal.example:7233', ...env }));

const lineOf = (env: Record<string, string>) => {
  try {
    serverOf(env);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    const { message } = error as Error;
    expect(message).not.toContain('\n');
    return message;
  }
};

function certificates() {
  const folder = temporaryFolder();
  const authority = createAuthority(folder, 'authority');
  const garbage = join(folder, 'garbage.pem');
  writeFileSync(garbage, 'no certificate');
  const other = authority.issue('other');
  return { authority, client: authority.issue('client'), other, garbage };
}

test('without its settings the connection to Temporal is plain', () => {
  const server = serverOf({});
  expect(server).toEqual({ address: 'temporal.example:7233' });
  expect(usesTls(server)).toBe(false);
});

test('an API key switches TLS on, unless TEMPORAL_TLS says otherwise', () => {
  const withKey = serverOf({ TEMPORAL_API_KEY: 'key' });
  expect(withKey).toMatchObject({ apiKey: 'key', tls: true });
  expect(usesTls(withKey)).toBe(true);
  for (const off of ['false', '0']) {
    const server = serverOf({ TEMPORAL_API_KEY: 'key', TEMPORAL_TLS: off });
    expect([server.apiKey, usesTls(server)]).toEqual(['key', false]);
  }
});

test('TEMPORAL_TLS alone, or any other setting of TLS, switches it on', () => {
  expect(usesTls(serverOf({ TEMPORAL_TLS: 'true' }))).toBe(true);
  expect(usesTls(serverOf({ TEMPORAL_TLS: '1' }))).toBe(true);
  expect(usesTls(serverOf({ TEMPORAL_TLS: '' }))).toBe(false);
  const named = serverOf({ TEMPORAL_TLS_SERVER_NAME: 'orders.tmprl.cloud' });
  expect(named.tls).toMatchObject({ serverNameOverride: 'orders.tmprl.cloud' });
});

test('certificates are given by their paths', () => {
  const { authority, client } = certificates();
  const paths = {
    TEMPORAL_TLS_CLIENT_CERT_PATH: client.certFile,
    TEMPORAL_TLS_CLIENT_KEY_PATH: client.keyFile,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: authority.certFile,
  };
  const { tls } = serverOf(paths);
  if (typeof tls !== 'object') throw new Error('There is no TLS');
  const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();
  expect(text(tls.serverRootCACertificate)).toBe(readFileSync(authority.certFile, 'utf8'));
  expect(text(tls.clientCertPair?.crt)).toBe(readFileSync(client.certFile, 'utf8'));
  expect(text(tls.clientCertPair?.key)).toBe(readFileSync(client.keyFile, 'utf8'));
});

test('what is wrong is one line that names the setting', () => {
  const { client, other, garbage } = certificates();
  const TEMPORAL_TLS_CLIENT_CERT_PATH = client.certFile;
  const TEMPORAL_TLS_CLIENT_KEY_PATH = client.keyFile;
  expect(lineOf({ TEMPORAL_TLS: 'maybe' })).toBe('TEMPORAL_TLS is wrong: it accepts true or false');
  expect(lineOf({ TEMPORAL_TLS_CLIENT_CERT_PATH })).toBe(
    'TEMPORAL_TLS_CLIENT_KEY_PATH is missing: it accepts the path of a PEM file',
  );
  expect(lineOf({ TEMPORAL_TLS_CLIENT_KEY_PATH })).toBe(
    'TEMPORAL_TLS_CLIENT_CERT_PATH is missing: it accepts the path of a PEM file',
  );
  expect(lineOf({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/nowhere/ca.pem' })).toMatch(
    /^TEMPORAL_TLS_SERVER_CA_CERT_PATH is wrong: it accepts the path of a PEM file \(ENOENT/,
  );
  expect(lineOf({ TEMPORAL_TLS_CLIENT_CERT_PATH: garbage, TEMPORAL_TLS_CLIENT_KEY_PATH })).toMatch(
    /^TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH cannot be used: /,
  );
  const keyOfAnother = { TEMPORAL_TLS_CLIENT_KEY_PATH: other.keyFile };
  expect(lineOf({ TEMPORAL_TLS_CLIENT_CERT_PATH, ...keyOfAnother })).toMatch(
    /^TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH cannot be used: /,
  );
  expect(lineOf({ TEMPORAL_TLS_CLIENT_CERT_PATH, TEMPORAL_TLS_CLIENT_KEY_PATH })).toBeUndefined();
});

test('authorities that are no certificates are refused', () => {
  const { garbage } = certificates();
  expect(lineOf({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: garbage })).toMatch(
    /^TEMPORAL_TLS_SERVER_CA_CERT_PATH cannot be used: /,
  );
});

test('production warns when calls to another machine are not encrypted', async () => {
  const warningsOf = async (env: Record<string, string>) => {
    const { log, logged } = keepingLog();
    const config = loadConfig({ TEMPORAL_ADDRESS: 'temporal.example:7233', ...env });
    const { client } = await openTemporal(config, log);
    await client.connection.close();
    return logged.map(({ level, msg }) => [level, msg]);
  };
  const NODE_ENV = 'production';
  expect(await warningsOf({ NODE_ENV })).toEqual([
    [40, 'Temporal is reached without TLS: set TEMPORAL_TLS, unless the network encrypts'],
  ]);
  expect(await warningsOf({})).toEqual([]);
  for (const TEMPORAL_ADDRESS of ['localhost:7233', '127.0.0.1:7233']) {
    expect(await warningsOf({ NODE_ENV, TEMPORAL_ADDRESS })).toEqual([]);
  }
});

test('the verification of the certificate cannot be disabled', () => {
  const server = serverOf({ TEMPORAL_TLS: 'true', TEMPORAL_TLS_DISABLE_HOST_VERIFICATION: 'true' });
  expect(server.tls).toEqual(serverOf({ TEMPORAL_TLS: 'true' }).tls);
});
