import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createCanaries } from '../../dev/canaries/canary.ts';
import { searchText } from '../../dev/canaries/search.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
/** As `COPY` writes a bytea. */
const bytea = (bytes: Buffer | string) => `\\\\x${Buffer.from(bytes).toString('hex')}`;
const escaped = (text: string, escape: string) =>
  [...text].map((letter) => escape + letter.codePointAt(0)?.toString(16)).join('');

/** The forms in which a value can be in a log, a trace or a table. */
const FORMS: Record<string, (value: string) => string> = {
  'as it is': (value) => value,
  'in capital letters': (value) => value.toUpperCase(),
  'URL-encoded': (value) => escaped(value, '%'),
  'JSON-escaped': (value) => escaped(value, '\\u00'),
  'as credentials': (value) => `Basic ${base64(`user:${value}`)}`,
  'in base64 at another offset': (value) => base64(`{"x":"${value}"}`),
  'as bytes': (value) => bytea(`{"x":"${value}"}`),
  'as base64 in bytes': (value) => bytea(`{"data":"${base64(`"${value}"`)}"}`),
  'URL-encoded as bytes': (value) => bytea(escaped(value, '%')),
  'JSON-escaped as bytes': (value) => bytea(escaped(value, '\\u00')),
  'JSON-escaped twice': (value) => JSON.stringify(escaped(value, '\\u00')),
  'as compressed bytes': (value) => bytea(gzipSync(value)),
};

test.each(Object.keys(FORMS))('the search for canaries finds each kind of value %s', (form) => {
  const canaries = createCanaries();
  const values = [
    canaries.word('a name'),
    canaries.phone('a phone').slice('+'.length),
    canaries.pan('a PAN'),
    canaries.digits('an account', 14),
  ];
  canaries.add('a secret', 'sk_test_AbCdEf0123456789abcdefGHIJ');
  values.push('sk_test_AbCdEf0123456789abcdefGHIJ');
  const missed = values.filter(
    (value) => searchText(`{"a":"${FORMS[form]?.(value)}"}\n`, canaries).size !== 1,
  );
  expect(missed).toEqual([]);
});

test('it finds nothing where none is', () => {
  const canaries = createCanaries();
  for (let count = 0; count < 1000; count += 1) canaries.phone('a phone');
  expect(searchText(JSON.stringify({ time: Date.now(), pid: 4711 }), canaries).size).toBe(0);
});
