import { describe, expect, test } from 'vitest';
import { createSecretBox, SealError } from '../../src/secret-box.ts';

const keyOf = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`;
const OLD = keyOf('2025', 1);
const NEW = keyOf('2026', 2);
const SECRET = 'whsec_0123456789abcdefghijABCDEFGHIJ012345';
const PLACE = ['mer_1', 'sandbox', 'webhook_secret'];

/** The encrypted text with one byte of its content changed. */
function tamper(sealed: string, index: number): string {
  const [id = '', encoded = ''] = sealed.split('.');
  const bytes = Buffer.from(encoded, 'base64');
  const at = index < 0 ? bytes.length + index : index;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return `${id}.${bytes.toString('base64')}`;
}

describe('an encrypted secret', () => {
  test('can be decrypted in its place, and does not contain its plain text', () => {
    const box = createSecretBox(NEW);
    const sealed = box.seal(SECRET, PLACE);
    expect(box.open(sealed, PLACE)).toBe(SECRET);
    expect(sealed).not.toContain('whsec_');
    expect(Buffer.from(sealed.split('.')[1] ?? '', 'base64').toString('latin1')).not.toContain(
      'whsec_',
    );
  });

  test('can be bytes, such as a document', () => {
    const box = createSecretBox(NEW);
    const content = Buffer.from([0, 46, 255, 46, 13, 10]);
    const sealed = box.sealBytes(content, PLACE);
    expect(createSecretBox(`${OLD},${NEW}`).openBytes(sealed, PLACE)).toEqual(content);
    expect(() => box.openBytes(sealed, ['mer_2', ...PLACE.slice(1)])).toThrow(SealError);
    expect(() => createSecretBox(OLD).openBytes(sealed, PLACE)).toThrow(SealError);
  });

  test('differs each time, so that equal secrets cannot be recognised', () => {
    const box = createSecretBox(NEW);
    const seals = Array.from({ length: 1000 }, () => box.seal(SECRET, PLACE));
    expect(new Set(seals).size).toBe(1000);
  });

  test('cannot be decrypted if any of its bytes is changed: nonce, text or tag', () => {
    const box = createSecretBox(NEW);
    const sealed = box.seal(SECRET, PLACE);
    const { length } = Buffer.from(sealed.split('.')[1] ?? '', 'base64');
    for (let index = 0; index < length; index += 1) {
      expect(() => box.open(tamper(sealed, index), PLACE)).toThrow(SealError);
    }
  });

  test.each([0, 1, 11, 12, 27, 28, 40])(
    'cannot be decrypted if it is cut to %i bytes',
    (length) => {
      const box = createSecretBox(NEW);
      const [id = '', encoded = ''] = box.seal(SECRET, PLACE).split('.');
      const cut = Buffer.from(encoded, 'base64').subarray(0, length).toString('base64');
      expect(() => box.open(`${id}.${cut}`, PLACE)).toThrow(SealError);
    },
  );

  test.each([
    [['mer_2', 'sandbox', 'webhook_secret']],
    [['mer_1', 'production', 'webhook_secret']],
    [['mer_1', 'sandbox', 'another_column']],
    [['mer_1sandbox', '', 'webhook_secret']],
  ])('does not open when it is moved to %j', (place) => {
    const box = createSecretBox(NEW);
    expect(() => box.open(box.seal(SECRET, PLACE), place)).toThrow(SealError);
  });

  test('cannot be decrypted with another key of the same id', () => {
    const sealed = createSecretBox(NEW).seal(SECRET, PLACE);
    expect(() => createSecretBox(keyOf('2026', 3)).open(sealed, PLACE)).toThrow(SealError);
  });

  test.each(['', 'nonsense', '.', '2026.', '2026.%%%'])('"%s" is none', (text) => {
    expect(() => createSecretBox(NEW).open(text, PLACE)).toThrow(SealError);
  });
});

describe('keys', () => {
  test('the newest key encrypts, and older keys still decrypt what they encrypted', () => {
    const before = createSecretBox(OLD);
    const sealed = before.seal(SECRET, PLACE);
    const after = createSecretBox(`${NEW},${OLD}`);
    expect(after.open(sealed, PLACE)).toBe(SECRET);
    expect(after.isCurrent(sealed)).toBe(false);
    const resealed = after.seal(SECRET, PLACE);
    expect(after.isCurrent(resealed)).toBe(true);
    expect(createSecretBox(NEW).open(resealed, PLACE)).toBe(SECRET);
  });

  test('a missing key is named', () => {
    const sealed = createSecretBox(OLD).seal(SECRET, PLACE);
    expect(() => createSecretBox(NEW).open(sealed, PLACE)).toThrow(
      'No encryption key has the id "2025"',
    );
  });

  test('an id that begins like another id is a different id', () => {
    const sealed = createSecretBox(keyOf('2026b', 4)).seal(SECRET, PLACE);
    expect(createSecretBox(NEW).isCurrent(sealed)).toBe(false);
  });
});
