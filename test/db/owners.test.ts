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
const SHARED = 'audit_log';

/** What statements and SQL functions name in capitals: `UPDATE orders`, `FROM orders o, payments`. */
const NAMED =
  /\b(INSERT INTO|UPDATE|DELETE FROM|FROM|JOIN|USING)\s+((?:\w+(?:\s+(?:AS\s+)?\w+)?,\s+)*\w+)/g;
const COMMENT = /^\s*(--|\/?\*|\/\/).*$/gm;

/** The tables of other features that this file writes, or reads. */
function foreignTables(path: string) {
  const feature = featureOf(path) ?? '';
  const matches = [...read(path).replaceAll(COMMENT, '').matchAll(NAMED)];
  return matches.flatMap(([, verb = '', names = '']) =>
    names
      .split(',')
      .map((name) => /\w+/.exec(name)?.[0] ?? '')
      .filter((table) => OWNERS.has(table) && OWNERS.get(table) !== feature && table !== SHARED)
      .map((table) => ({ feature, table, writes: !['FROM', 'JOIN', 'USING'].includes(verb) })),
  );
}

/** The tables of others, by feature. */
const byFeature = (tables: readonly { feature: string; table: string }[]) =>
  Object.fromEntries(
    Object.entries(Object.groupBy(tables, ({ feature }) => feature)).map(
      ([feature, found = []]) => [
        feature,
        [...new Set(found.map(({ table }) => table))].toSorted().join(' '),
      ],
    ),
  );

const FOREIGN = FILES.flatMap(foreignTables);

/** Only shorter: a new statement calls a function of the owner, in SQL or in TypeScript. */
const WRITTEN_BY_OTHERS = {
  // A confirmed sign-up makes its merchant.
  accounts: 'merchants',
  checkout: 'orders',
  merchants: 'order_wakeups',
  onboarding: 'merchants',
  // record_step, insert_step, and the sweep.
  orders: 'ledger_transfers order_events payment_sessions webhook_deliveries',
  payments: 'alerts ledger_transfers order_commands order_wakeups orders',
  // break_glass; what a proposal has of an erased order.
  proposals: 'alerts mails',
  webhooks: 'merchant_environments',
};

/** Only shorter: a new statement reads a view of the owner, or calls its function. */
const READ_BY_OTHERS = {
  accounts: 'confirmed_admins merchants',
  // The view resolved_alerts.
  alerts: 'order_steps orders payment_sessions payments surplus_refunds webhook_deliveries',
  checkout:
    'merchants order_commands order_steps outside_settlements payment_sessions payments surplus_refunds',
  // The proof, which uses no function that writes lines (docs/rules.md); payouts are lines of the statement.
  ledger: 'gateway_reversals orders outside_settlements payments surplus_refunds transfer_payouts',
  merchants:
    'linked_accounts order_commands order_events order_steps orders surplus_refunds users webhook_deliveries',
  onboarding:
    'api_keys event_counters merchant_environments merchants orders users webhook_attempts',
  orders:
    'gateway_callbacks gateway_reversals ledger_transfers mails merchant_environments merchants order_events outside_settlements payment_sessions payments surplus_refunds webhook_attempts webhook_deliveries',
  payments: 'alerts ledger_transfers merchants orders',
  proposals: 'alerts users',
  webhooks: 'merchant_environments merchants orders',
};

test('a feature names only its own tables, but for those that are listed', () => {
  expect(OWNERS.size).toBeGreaterThan(40);
  expect(byFeature(FOREIGN.filter(({ writes }) => writes))).toEqual(WRITTEN_BY_OTHERS);
  expect(byFeature(FOREIGN.filter(({ writes }) => !writes))).toEqual(READ_BY_OTHERS);
});
