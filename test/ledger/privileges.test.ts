import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test.each([
  ['change a table', 'ALTER TABLE orders ADD COLUMN note text', 'must be owner of table orders'],
  ['make a table', 'CREATE TABLE notes (text text)', 'permission denied for schema public'],
  ['rewrite the ledger', 'UPDATE ledger_transfers SET amount_paise = 1', 'permission denied'],
  ['delete from the ledger', 'DELETE FROM ledger_transfers', 'permission denied'],
  ['rewrite the audit log', "UPDATE audit_log SET actor = ''", 'permission denied'],
  ['delete an order', 'DELETE FROM orders', 'permission denied'],
  ['empty a table', 'TRUNCATE webhook_attempts', 'permission denied'],
  ['say that a migration has run', 'DELETE FROM schema_version', 'permission denied'],
])("the service's login cannot %s", async (_what, statement, refusal) => {
  await expect(database.serviceSql.unsafe(statement)).rejects.toThrow(refusal);
});
