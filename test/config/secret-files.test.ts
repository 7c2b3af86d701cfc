import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { environmentOver } from '../../dev/config.ts';
import { loadConfig, required } from '../../src/config.ts';
import { ConfigError } from '../../src/settings.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const KEY = `k1:${'A'.repeat(43)}=`;

/** The secrets of the service: the name of each variable, and a value that it accepts. */
const SECRETS: [name: string, value: string][] = [
  ['DATABASE_URL', 'postgres://service:secret@db/orders'],
  ['MIGRATION_DATABASE_URL', 'postgres://owner:secret@db/orders'],
  ['API_SECRET_PEPPER', 'p'.repeat(32)],
  ['WEBHOOK_SECRET_KEYS', KEY],
  ['DATA_ENCRYPTION_KEYS', KEY],
  ['SMTP_URL', 'smtps://user:secret@mail.example'],
  ['SANDBOX_RAZORPAY_KEY_SECRET', 'secret'],
  ['SANDBOX_RAZORPAY_WEBHOOK_SECRET', 'secret'],
  ['PRODUCTION_RAZORPAY_KEY_SECRET', 'secret'],
  ['PRODUCTION_RAZORPAY_WEBHOOK_SECRET', 'secret'],
];

/** What belongs to SMTP_URL and to a gateway, and is no secret. */
const REST = {
  MAIL_FROM: 'no-reply@payments.example',
  SANDBOX_RAZORPAY_BASE_URL: 'https://api.razorpay.com',
  SANDBOX_RAZORPAY_KEY_ID: 'rzp_test_x',
  PRODUCTION_RAZORPAY_BASE_URL: 'https://api.razorpay.com',
  PRODUCTION_RAZORPAY_KEY_ID: 'rzp_live_x',
};

function fileWith(content: string): string {
  const file = join(temporaryFolder(), 'secret');
  writeFileSync(file, content);
  return file;
}

const errorOf = (env: NodeJS.ProcessEnv): string => {
  try {
    loadConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
  return '';
};

test('each secret can be given as a file, with or without a newline at its end', () => {
  const values = { ...REST, ...Object.fromEntries(SECRETS) };
  for (const end of ['', '\n', '\r\n']) {
    const files = SECRETS.map(([name, value]) => [`${name}_FILE`, fileWith(value + end)]);
    expect(loadConfig({ ...REST, ...Object.fromEntries(files) })).toEqual(loadConfig(values));
  }
});

test('only one newline is removed, because a secret may end with another', () => {
  const pepper = `${'p'.repeat(32)} \n`;
  const config = loadConfig({ API_SECRET_PEPPER_FILE: fileWith(`${pepper}\n`) });
  expect(config.apiSecretPepper).toBe(pepper);
});

describe.each(SECRETS)('%s', (name, value) => {
  const others = { ...REST, ...Object.fromEntries(SECRETS.filter(([other]) => other !== name)) };

  test('is refused if the value and a file are both given', () => {
    const env = { ...others, [name]: value, [`${name}_FILE`]: fileWith(value) };
    expect(errorOf(env)).toBe(`${name} and ${name}_FILE are both given: set only one of them`);
  });

  test('is refused in one line if its file cannot be read', () => {
    const missing = join(temporaryFolder(), 'missing');
    const line = errorOf({ ...others, [`${name}_FILE`]: missing });
    expect(line).toMatch(new RegExp(`^${name}_FILE cannot be read: ENOENT.*/missing'$`));
    const folder = temporaryFolder();
    expect(errorOf({ ...others, [`${name}_FILE`]: folder })).toMatch(
      new RegExp(`^${name}_FILE cannot be read: EISDIR.*$`),
    );
  });
});

test('an empty file is a secret that is not given, as an empty value is', () => {
  const empty = fileWith('\n');
  const config = loadConfig({
    API_SECRET_PEPPER_FILE: empty,
    SMTP_URL_FILE: empty,
    SANDBOX_RAZORPAY_KEY_SECRET_FILE: empty,
    SANDBOX_RAZORPAY_WEBHOOK_SECRET_FILE: empty,
  });
  expect(config).toMatchObject({ mail: undefined, gateways: { sandbox: { razorpay: undefined } } });
  expect(() => required(config, 'API_SECRET_PEPPER')).toThrow('API_SECRET_PEPPER is missing: ');
});

test('a wrong value in a file does not appear in the line about it', () => {
  const line = errorOf({ API_SECRET_PEPPER_FILE: fileWith('short-secret') });
  expect(line).toBe(
    'API_SECRET_PEPPER is wrong: it accepts at least 32 characters, several separated by commas, the newest first',
  );
});

test('what is no secret is not read from a file', () => {
  expect(loadConfig({ PORT_FILE: fileWith('9000') }).port).toBe(8080);
});

test("one's own secret comes before that of a running service, in whichever way each is given", () => {
  const own = 'postgres://own:secret@db/orders';
  const service = { DATABASE_URL: 'postgres://service:secret@db/orders' };
  const file = { DATABASE_URL_FILE: fileWith(own) };
  expect(loadConfig(environmentOver(service, file)).databaseUrl).toBe(own);
  expect(loadConfig(environmentOver(file, service)).databaseUrl).toBe(service.DATABASE_URL);
});
