import { gzipSync } from 'node:zlib';
import { expect, inject } from 'vitest';
import { createCanaries } from '../../dev/canaries/canary.ts';
import { tablesOf } from '../../dev/canaries/places.ts';
import { searchPlaces } from '../../dev/canaries/report.ts';
import { searchText } from '../../dev/canaries/search.ts';
import { databaseTest } from '../support/fixtures.ts';

const test = databaseTest();

const base64 = (text: string) => Buffer.from(text).toString('base64');
/** As `COPY` writes a bytea. */
const bytea = (bytes: Buffer | string) => `\\\\x${Buffer.from(bytes).toString('hex')}`;
const escaped = (text: string, escape: string) =>
  [...text].map((letter) => escape + letter.codePointAt(0)?.toString(16)).join('');

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

test('it finds what columns of bytes and of text have', async ({ database: { sql } }) => {
  const canaries = createCanaries();
  const values = {
    plain: canaries.word('plain'),
    escaped: canaries.word('escaped'),
    base64: canaries.word('base64'),
    compressed: canaries.word('compressed'),
    text: canaries.word('text'),
  };
  await sql`CREATE TABLE planted (data bytea, text text)`;
  await sql`
    INSERT INTO planted (data, text) VALUES (${Buffer.from(values.plain)}, ${values.text}),
      (${Buffer.from(escaped(values.escaped, '\\u00'))}, ''),
      (${Buffer.from(`{"data":"${base64(`"${values.base64}"`)}"}`)}, ''),
      (${gzipSync(values.compressed)}, '')`;
  const [{ name }] = await sql<[{ name: string }]>`SELECT current_database() AS name`;
  const tables = await tablesOf(inject('postgresAdminUrl'), name);
  const { found } = searchPlaces('tables', tables, canaries);
  expect(new Set(found.map(({ place, canary }) => `${place} ${canary}`))).toEqual(
    new Set(Object.values(values).map((value) => `${name}.planted ${value}`)),
  );
});
