import { expect } from 'vitest';
import { databaseTest } from '../support/fixtures.ts';

const test = databaseTest();

test.for([
  ['change a table', 'ALTER TABLE orders ADD COLUMN note text', 'must be owner of table orders'],
  ['make a table', 'CREATE TABLE notes (text text)', 'permission denied for schema public'],
  ['rewrite the ledger', 'UPDATE ledger_transfers SET amount_paise = 1', 'permission denied'],
  ['delete from the ledger', 'DELETE FROM ledger_transfers', 'permission denied'],
  ['rewrite a payout', "UPDATE transfer_payouts SET utr = ''", 'permission denied'],
  ['rewrite the audit log', "UPDATE audit_log SET actor = ''", 'permission denied'],
  ['rewrite a command', "UPDATE order_commands SET actor = ''", 'permission denied'],
  ['rewrite an outcome', "UPDATE order_commands SET state = 'DONE'", 'permission denied'],
  ['delete a command', 'DELETE FROM order_commands', 'permission denied'],
  ['rewrite a step', "UPDATE order_steps SET kind = ''", 'permission denied'],
  ['delete a step', 'DELETE FROM order_steps', 'permission denied'],
  ['delete from the audit log', 'DELETE FROM audit_log', 'permission denied'],
  ['delete an order', 'DELETE FROM orders', 'permission denied'],
  ['delete a change of an account', 'DELETE FROM linked_account_changes', 'permission denied'],
  ['rewrite it', 'UPDATE linked_account_changes SET active_from = now()', 'permission denied'],
  [
    'rename a merchant in the view for others',
    "UPDATE shared.merchants SET name = ''",
    'permission denied',
  ],
  ['empty a table', 'TRUNCATE webhook_attempts', 'permission denied'],
  ['say that a migration has run', 'DELETE FROM schema_version', 'permission denied'],
] as const)("the service's login cannot %s", async ([_what, statement, refusal], { database }) => {
  await expect(database.serviceSql.unsafe(statement)).rejects.toThrow(refusal);
});
