import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { privateJson } from '../files/private-file.ts';

const key = () => randomBytes(32).toString('base64');
const encryptionKey = () => `local-1:${key()}`;
const randomText = () => randomBytes(18).toString('base64url');

/** How each is made. */
const GENERATED = {
  API_SECRET_PEPPER: key,
  WEBHOOK_SECRET_KEYS: encryptionKey,
  DATA_ENCRYPTION_KEYS: encryptionKey,
  SIMULATOR_KEY_SECRET: randomText,
  SIMULATOR_WEBHOOK_SECRET: randomText,
  DATABASE_OWNER_PASSWORD: randomText,
  DATABASE_SERVICE_PASSWORD: randomText,
  TEMPORAL_DATABASE_PASSWORD: randomText,
};
const NAMES = Object.keys(GENERATED) as (keyof typeof GENERATED)[];

/** Passwords are inserted into SQL without escaping. */
const secretsSchema = z.record(z.enum(NAMES), z.string().regex(/^[\w+/=:,-]{20,}$/));

/** The secrets of a developer's machine, by the names of their settings. */
export type Secrets = z.infer<typeof secretsSchema>;

const file = privateJson(
  'secrets.json',
  secretsSchema,
  'restore it, or choose another DATA_DIR to begin anew',
);

/**
 * The secrets of this data directory, generated at the first start: with other ones, the API keys in
 * its database would be invalid.
 *
 * @throws SetupError when the file is damaged.
 */
export function loadOrCreateSecrets(dataDir: string): Secrets {
  const kept = file.read(dataDir);
  if (kept !== undefined) return kept;
  const secrets = Object.fromEntries(NAMES.map((name) => [name, GENERATED[name]()])) as Secrets;
  file.write(dataDir, secrets);
  return secrets;
}
