import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { filesBelow, read } from '../repository/files.ts';

/** The folder of src that a file belongs to. A migration has it in its name. */
const featureOf = (path: string): string | undefined =>
  (/^\d+\.do\.([a-z]+)/.exec(basename(path)) ?? /^(?:src\/)?(\w+)/.exec(path))?.[1];

/** Without `privacy`, which erases and deletes in the tables of all features. */
const FILES = filesBelow(['src', 'activities'])
  .filter((path) => /\.(ts|sql)$/.test(path))
  .filter((path) => featureOf(path) !== 'privacy');

/** The owner of each table: the feature of the migration that creates it. */
const OWNERS = new Map(
  FILES.flatMap((path) =>
    [...read(path).matchAll(/^CREATE (?:UNLOGGED )?TABLE (\w+)/gm)].map(
      ([, table = '']) => [table, featureOf(path)] as const,
    ),
  ),
);

/** A statement that makes a change also writes its line of the audit list. */
const WRITTEN_BY_ALL = 'audit_log';

/** What statements and SQL functions name in capitals: `UPDATE orders`, `FROM shared.orders o, payments`. */
const NAMED =
  /\b(INSERT INTO|UPDATE|DELETE FROM|FROM|JOIN|USING)\s+((?:[\w.]+(?:\s+(?:AS\s+)?\w+)?,\s+)*[\w.]+)/g;
/** A variable or parameter of an SQL function that is a row: `o orders;`. */
const ROW = /\b[a-z]\w* (\w+)[;,)]/g;
const COMMENT = /^\s*(--|\/?\*|\/\/).*$/gm;

const textOf = (path: string) => read(path).replaceAll(COMMENT, '');

const isForeign = (feature: string, table: string) =>
  OWNERS.has(table) && OWNERS.get(table) !== feature && table !== WRITTEN_BY_ALL;

/** The tables of other features that this file writes, or reads other than through the schema `shared`. */
function foreignTables(path: string) {
  const feature = featureOf(path) ?? '';
  const text = textOf(path);
  const rows = path.endsWith('.sql') ? [...text.matchAll(ROW)] : [];
  return [...rows.map(([, table = '']) => ['FROM', table] as const), ...namedIn(text)]
    .map(([verb, name]) => {
      const writes = !['FROM', 'JOIN', 'USING'].includes(verb);
      return { feature, path, writes, table: writes ? name.replace('shared.', '') : name };
    })
    .filter(({ table }) => isForeign(feature, table));
}

const namedIn = (text: string) =>
  [...text.matchAll(NAMED)].flatMap(([, verb = '', names = '']) =>
    names.split(',').map((name) => [verb, /[\w.]+/.exec(name)?.[0] ?? ''] as const),
  );

const FOREIGN = FILES.flatMap(foreignTables);

/** Only shorter: a new statement calls a function of the owner, in SQL or in TypeScript. */
const WRITTEN_BY_OTHERS = {
  // A confirmed sign-up makes its merchant.
  accounts: 'merchants',
  checkout: 'orders',
  merchants: 'order_wakeups',
  onboarding: 'merchants',
  // The sweep.
  orders: 'webhook_deliveries',
  payments: 'alerts order_wakeups orders',
  // break_glass; what a proposal has of an erased order.
  proposals: 'alerts mails',
  webhooks: 'merchant_environments',
};

test('a feature writes only its own tables, but for those that are listed', () => {
  expect(OWNERS.size).toBeGreaterThan(40);
  const written = Object.groupBy(
    FOREIGN.filter(({ writes }) => writes),
    ({ feature }) => feature,
  );
  const byFeature = Object.entries(written).map(([feature, found = []]) => [
    feature,
    [...new Set(found.map(({ table }) => table))].toSorted().join(' '),
  ]);
  expect(Object.fromEntries(byFeature)).toEqual(WRITTEN_BY_OTHERS);
});

test('a feature reads the tables of others only through the schema shared', () => {
  expect(FOREIGN.filter(({ writes }) => !writes)).toEqual([]);
});

test('a view of the schema shared is of one table, stands with it, and has what other features read', () => {
  const views = FILES.flatMap((path) =>
    [...textOf(path).matchAll(/^CREATE VIEW shared\.(\w+) AS SELECT([^;]+)FROM (\w+)[^;]*;/gm)].map(
      ([, name = '', columns = '', table]) => ({ path, name, columns, table }),
    ),
  );
  expect(views.length).toBeGreaterThan(20);
  const unread = views.flatMap(({ path, name, columns, table }) => {
    expect(table).toBe(name);
    expect(featureOf(path)).toBe(OWNERS.get(name));
    const readers = FILES.filter((file) => isForeign(featureOf(file) ?? '', name))
      .map(textOf)
      .filter((text) => new RegExp(`shared\\.${name}\\b`).test(text));
    return columns
      .split(',')
      .map((column) => /\w+$/.exec(column.trim())?.[0] ?? '')
      .filter((column) => !readers.some((text) => new RegExp(`\\b${column}\\b`).test(text)))
      .map((column) => `${name}.${column}`);
  });
  // By isExpired, with which checkout reads a session.
  expect(unread).toEqual(['payment_sessions.ended_at']);
});
