import { argon2Sync } from 'node:crypto';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { COMMON_PASSWORDS } from '../../src/accounts/passwords/common-passwords.ts';
import { refusalOfPassword } from '../../src/accounts/passwords/password-rules.ts';
import {
  hashPassword,
  isCurrentHash,
  verifyPassword,
} from '../../src/accounts/passwords/passwords.ts';

const PASSWORD = 'seven green bicycles';

describe('a stored password', () => {
  test('is an Argon2id hash with its salt and with the parameters that OWASP recommends', async () => {
    const stored = await hashPassword(PASSWORD);
    expect(stored).toMatch(
      /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/,
    );
    const [, , , , salt = '', hash] = stored.split('$');
    const again = argon2Sync('argon2id', {
      message: PASSWORD,
      nonce: Buffer.from(salt, 'base64'),
      parallelism: 1,
      tagLength: 32,
      memory: 19_456,
      passes: 2,
    });
    expect(hash).toBe(again.toString('base64').replace('=', ''));
  });

  test('is another one each time', async () => {
    expect(await hashPassword(PASSWORD)).not.toBe(await hashPassword(PASSWORD));
  });

  test('is verified, to the last character', async () => {
    const stored = await hashPassword(PASSWORD);
    expect(await verifyPassword(PASSWORD, stored)).toBe(true);
    for (const wrong of ['', `${PASSWORD} `, PASSWORD.toUpperCase(), PASSWORD.slice(0, -1)]) {
      expect(await verifyPassword(wrong, stored)).toBe(false);
    }
  });

  test('has every one of 128 characters, also of several bytes', async () => {
    const long = 'पासवर्ड🔐'.repeat(20).slice(0, 128);
    const stored = await hashPassword(long);
    expect(await verifyPassword(long, stored)).toBe(true);
    expect(await verifyPassword(long.slice(0, -1), stored)).toBe(false);
  });

  test('is the same in another Unicode form of the same characters', async () => {
    const stored = await hashPassword('Zoë’s cafés'.normalize('NFC'));
    expect(await verifyPassword('Zoë’s cafés'.normalize('NFD'), stored)).toBe(true);
  });

  test('is verified with the parameters that it was stored with, and known to be old', async () => {
    const cost = { memory: 8192, passes: 1, parallelism: 1 };
    const salt = Buffer.alloc(16, 1);
    const hash = argon2Sync('argon2id', { message: PASSWORD, nonce: salt, tagLength: 32, ...cost });
    const old = `$argon2id$v=19$m=8192,t=1,p=1$${salt.toString('base64')}$${hash.toString('base64')}`;
    expect(await verifyPassword(PASSWORD, old)).toBe(true);
    expect(await verifyPassword('another one', old)).toBe(false);
    expect(isCurrentHash(old)).toBe(false);
    expect(isCurrentHash(await hashPassword(PASSWORD))).toBe(true);
  });

  test('is never right without a stored hash', async () => {
    expect(await verifyPassword('', null)).toBe(false);
    expect(await verifyPassword(PASSWORD, null)).toBe(false);
  });
});

describe('a new password', () => {
  const NAMES = ['asha.verma@kurtis-and-more.example', 'Asha Textiles'];
  const refusal = (password: string) => refusalOfPassword(password, NAMES);

  test.for([
    PASSWORD,
    'correct horse battery staple',
    'vX9#kq2LmPz$',
    '🚲🦜🌶️🪁🧩🥁🛶🎻🪔🧶🏔️🦚',
    'मेरी साइकिल नीली और तेज है',
    '            x y z p q r s t u v'.trim().padEnd(30, ' kmt'),
    'x'.repeat(4) + 'my aunt bakes 41 samosas',
  ])('may be %s', (password) => {
    expect(refusal(password)).toBeUndefined();
  });

  test('has 12 to 128 characters, however many bytes they are', () => {
    const characters = [...'k7wq🚲mzभpx2v🧶t9'];
    const ofLength = (length: number) =>
      Array.from({ length }, (_, at) => characters[(at * at + at) % characters.length]).join('');
    expect(refusal([...'k7wq🚲mzभpx2'].join(''))).toBe(
      'The password must have at least 12 characters',
    );
    expect(refusal('k7wq🚲mzभpx2v')).toBeUndefined();
    expect(refusal(`k7wq🚲mzभpx2v${ofLength(116)}`)).toBeUndefined();
    expect(refusal(`k7wq🚲mzभpx2v${ofLength(117)}`)).toBe(
      'The password must have at most 128 characters',
    );
  });

  test.for([
    'passwordpassword',
    'Password1234',
    'P@ssw0rd2026!!',
    '123456789012',
    '111111111111',
    'abcabcabcabcabc',
    'qwertyuiop123',
    '1qaz2wsx3edc',
    'iloveyouforever',
    'letmein123456',
    'administrator',
    'Welcome@12345',
    'omsairam108108',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
    '                ',
    'trustno1trustno1',
    'merchantpayments1',
  ])('cannot be the easily guessed %s', (password) => {
    expect(refusal(password)).toMatch(/^The password is easy to guess/);
  });

  test('cannot be a common password of 12 and more characters, in any case and decorated', () => {
    expect(COMMON_PASSWORDS).toHaveLength(308);
    expect(COMMON_PASSWORDS).toEqual(expect.arrayContaining(['finalfantasy', 'qawsedrftgyh']));
    const decorations = [
      (common: string) => common,
      (common: string) => common.toUpperCase(),
      (common: string) => `${common[0]?.toUpperCase()}${common.slice(1)}2026!`,
      (common: string) => `**${common}99##`,
    ];
    for (const decorated of decorations) {
      const accepted = COMMON_PASSWORDS.map(decorated).filter((one) => !refusal(one));
      expect(accepted).toEqual([]);
    }
    expect(refusal('F1n@lF4nt4sy!!')).toMatch(/^The password is easy to guess/);
  });

  test('may have words of common passwords beside enough others', () => {
    expect(refusal('an international kayak of wool')).toBeUndefined();
    expect(refusal('philadelphia, unseen by us')).toBeUndefined();
  });

  test.for(['AshaTextiles2026', 'asha.verma@kurtis', 'kurtis-and-more-99', '@sh4-t3xt1l3s!!'])(
    'cannot be made of the e-mail address and the name of the business: %s',
    (password) => {
      expect(refusal(password)).toMatch(/^The password is easy to guess/);
      expect(refusalOfPassword('kurtis vs bicycles', [])).toBeUndefined();
    },
  );

  test('of 32 KiB is refused before its marks are put into their order, and so are names', async () => {
    const marks = `a${'\u0345'.repeat(8000)}${'\u0334'.repeat(8000)}`;
    // Normalising is what puts them into order: it takes a time that grows with the square of their number.
    const normalise = vi.spyOn(String.prototype, 'normalize');
    onTestFinished(() => normalise.mockRestore());
    expect(refusal(marks)).toBe('The password must have at most 128 characters');
    expect(refusalOfPassword(PASSWORD, [marks])).toBeUndefined();
    expect(await verifyPassword(marks, await hashPassword(PASSWORD))).toBe(false);
    const lengths = normalise.mock.contexts.map((text) => String(text).length);
    expect(lengths).not.toEqual([]);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(1024);
  });

  test('is checked without a hang, whatever it repeats', () => {
    for (const unit of ['a', 'ab', 'abcdefg1', '🚲', 'ki']) {
      expect(refusal([...unit.repeat(128)].slice(0, 128).join(''))).toMatch(/easy to guess/);
    }
  });
});

test('a hash that would wait behind 40 others is refused, and the others are made', async () => {
  const made = Promise.all(Array.from({ length: 42 }, () => hashPassword(PASSWORD)));
  await expect(hashPassword(PASSWORD)).rejects.toMatchObject({
    code: 'TOO_MANY_REQUESTS',
    headers: { 'Retry-After': '5' },
  });
  expect(new Set(await made).size).toBe(42);
  expect(isCurrentHash(await hashPassword(PASSWORD))).toBe(true);
});
