import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { readPrivateJson, writePrivateFile } from '../files/private-file.ts';

/** Inserted into SQL and URLs without escaping. */
const password = z.string().regex(/^[\w-]{20,}$/);

const secretsSchema = z.object({
  API_SECRET_PEPPER: z.string().min(32),
  WEBHOOK_SECRET_KEYS: z.string().min(1),
  DATA_ENCRYPTION_KEYS: z.string().min(1),
  SIMULATOR_KEY_SECRET: z.string().min(1),
  SIMULATOR_WEBHOOK_SECRET: z.string().min(1),
  DATABASE_OWNER_PASSWORD: password,
  DATABASE_SERVICE_PASSWORD: password,
  TEMPORAL_DATABASE_PASSWORD: password,
});

/** The secrets of a developer's machine, by the names of their settings. */
export type Secrets = z.infer<typeof secretsSchema>;

const encryptionKey = () => `local-1:${randomBytes(32).toString('base64')}`;
const randomText = () => randomBytes(18).toString('base64url');

function generate(): Secrets {
  return {
    API_SECRET_PEPPER: randomBytes(32).toString('base64'),
    WEBHOOK_SECRET_KEYS: encryptionKey(),
    DATA_ENCRYPTION_KEYS: encryptionKey(),
    SIMULATOR_KEY_SECRET: randomText(),
    SIMULATOR_WEBHOOK_SECRET: randomText(),
    DATABASE_OWNER_PASSWORD: randomText(),
    DATABASE_SERVICE_PASSWORD: randomText(),
    TEMPORAL_DATABASE_PASSWORD: randomText(),
  };
}

/**
 * The secrets of this data directory, generated at the first start: with other ones, the API keys in
 * its database would be invalid.
 *
 * @throws SetupError when the file is damaged.
 */
export function loadOrCreateSecrets(dataDir: string): Secrets {
  const file = join(dataDir, 'secrets.json');
  const remedy = 'restore it, or choose another DATA_DIR to begin anew';
  const kept = readPrivateJson(file, secretsSchema, remedy);
  if (kept !== undefined) return kept;
  const secrets = generate();
  writePrivateFile(file, `${JSON.stringify(secrets, undefined, 2)}\n`);
  return secrets;
}
