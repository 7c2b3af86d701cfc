import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A sealed secret that cannot be opened. The message contains no secret. */
export class SealError extends Error {
  override readonly name = 'SealError';
}

/** Encrypts secrets for the database. A sealed secret opens only with the same context. */
export interface SecretBox {
  /** @param context what the secret belongs to, for example merchant, environment and column */
  seal(secret: string, context: readonly string[]): string;
  /** @throws SealError when the key is unknown, the text was changed, or the context differs */
  open(sealed: string, context: readonly string[]): string;
  /** The same for bytes, such as a document: a third smaller than as text. */
  sealBytes(content: Uint8Array, context: readonly string[]): Buffer;
  /** @throws SealError as `open` */
  openBytes(sealed: Uint8Array, context: readonly string[]): Buffer;
  /** False when the secret was sealed with an older key. */
  isCurrent(sealed: string): boolean;
  /** The ids of the keys, the newest first. */
  readonly keyIds: readonly string[];
}

/**
 * AES-256-GCM with the newest key; older keys still open what they sealed.
 *
 * @param keys `id:base64 of 32 bytes`, several separated by commas, the newest first
 */
export function createSecretBox(keys: string): SecretBox {
  const byId = new Map(
    keys.split(',').map((pair) => {
      const [id = '', key = ''] = pair.split(':');
      return [id, Buffer.from(key, 'base64')] as const;
    }),
  );
  const [currentId = ''] = byId.keys();
  const keyOf = (id: string) => {
    const key = byId.get(id);
    if (!key) throw new SealError(`No encryption key has the id "${id}"`);
    return key;
  };
  const encrypt = (content: Uint8Array, context: readonly string[]) => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, keyOf(currentId), nonce, {
      authTagLength: TAG_BYTES,
    });
    cipher.setAAD(Buffer.from(JSON.stringify(context)));
    return Buffer.concat([nonce, cipher.update(content), cipher.final(), cipher.getAuthTag()]);
  };
  return {
    seal: (secret, context) =>
      `${currentId}.${encrypt(Buffer.from(secret), context).toString('base64')}`,
    open(sealed, context) {
      const [id = '', encoded = ''] = sealed.split('.');
      return decrypt(keyOf(id), Buffer.from(encoded, 'base64'), context).toString('utf8');
    },
    sealBytes: (content, context) =>
      Buffer.concat([Buffer.from(`${currentId}.`), encrypt(content, context)]),
    openBytes(sealed, context) {
      const bytes = Buffer.from(sealed);
      const end = bytes.indexOf('.');
      return decrypt(keyOf(bytes.toString('latin1', 0, end)), bytes.subarray(end + 1), context);
    },
    keyIds: [...byId.keys()],
    isCurrent: (sealed) => sealed.startsWith(`${currentId}.`),
  };
}

function decrypt(key: Buffer, bytes: Buffer, context: readonly string[]): Buffer {
  try {
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(JSON.stringify(context)));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const content = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([content, decipher.final()]);
  } catch (error) {
    throw new SealError('The sealed secret was changed, or moved here from another place', {
      cause: error,
    });
  }
}
