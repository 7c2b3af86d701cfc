import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A sealed secret that cannot be opened. The message names no secret. */
export class SealError extends Error {
  override readonly name = 'SealError';
}

/** Seals webhook secrets for the database. What is sealed opens only in the place it was made for. */
export interface SecretBox {
  /** @param place who and what it belongs to, for example merchant, environment and column */
  seal(secret: string, place: readonly string[]): string;
  /** @throws SealError when the key is unknown, or the text was changed or moved to another place */
  open(sealed: string, place: readonly string[]): string;
  /** False when it was sealed with an older key. */
  isCurrent(sealed: string): boolean;
}

/**
 * AES-256-GCM under the newest key; older keys still open what they sealed.
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
    if (!key) throw new SealError(`No webhook secret key has the id "${id}"`);
    return key;
  };
  return {
    seal(secret, place) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, keyOf(currentId), nonce, {
        authTagLength: TAG_BYTES,
      });
      cipher.setAAD(Buffer.from(JSON.stringify(place)));
      const sealed = [nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()];
      return `${currentId}.${Buffer.concat(sealed).toString('base64')}`;
    },
    open(sealed, place) {
      const [id = '', encoded = ''] = sealed.split('.');
      return decrypt(keyOf(id), Buffer.from(encoded, 'base64'), place);
    },
    isCurrent: (sealed) => sealed.startsWith(`${currentId}.`),
  };
}

function decrypt(key: Buffer, bytes: Buffer, place: readonly string[]): string {
  try {
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(JSON.stringify(place)));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch (error) {
    throw new SealError('The sealed secret was changed, or moved here from another place', {
      cause: error,
    });
  }
}
