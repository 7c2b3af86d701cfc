import postgres from 'postgres';

/** Tables whose rows are never updated or deleted. */
const APPEND_ONLY = [
  'audit_log',
  'ledger_transfers',
  'linked_account_changes',
  'order_commands',
  'order_steps',
  'transfer_payouts',
  'webhook_attempts',
];

/** The only tables whose rows may be deleted. */
const MAY_DELETE = [
  'account_attempts',
  'dashboard_sessions',
  'gateway_callbacks',
  'kept_forms',
  'known_devices',
  'ledger_proofs',
  'mails',
  'merchant_documents',
  'one_time_links',
  'order_wakeups',
  'pending_logins',
  'rate_limits',
  'recovery_codes',
  'sign_ups',
];

/** Functions that change append-only tables with the privileges of the tables' owner. */
const OWNERS_FUNCTIONS = [
  'erase_order(text, text, text, text)',
  'erase_old_answers(timestamptz, integer)',
  'set_linked_account(text, environment, jsonb, bigint, jsonb)',
  'end_command(text, text, command_state, integer)',
  'open_proposal(jsonb, bigint, text[], jsonb)',
  'approve_proposal(text, text, text[], jsonb)',
  'close_proposal(text, text, proposal_status, text[], jsonb)',
  'finish_proposal(text, text)',
  'mark_proposal_warned(text)',
];

/** Only migrations, or functions and triggers of the tables' owner, write to them. */
const READ_ONLY = ['confirmed_admins', 'proposals', 'schema_version'];

/** The views of the schema `shared` whose rows other features lock, for which PostgreSQL requires UPDATE. */
const LOCKED_BY_OTHERS = ['orders', 'users', 'webhook_deliveries'];

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/**
 * Grants a login the privileges of the API, the worker and `admin`: it may read and write rows, but
 * not change tables or update append-only rows. Idempotent; each migration run repeats it.
 *
 * @param ownerUrl the connection URL of the login that owns the tables
 * @param login the name of the login that receives the privileges
 */
export async function grantServicePrivileges(ownerUrl: string, login: string): Promise<void> {
  const sql = postgres(ownerUrl, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  const role = quoted(login);
  try {
    await sql.unsafe(`
      GRANT USAGE ON SCHEMA public, shared TO ${role};
      GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO ${role};
      GRANT SELECT ON ALL TABLES IN SCHEMA shared TO ${role};
      GRANT UPDATE ON ${LOCKED_BY_OTHERS.map((view) => `shared.${view}`).join(', ')} TO ${role};
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${role};
      GRANT EXECUTE ON FUNCTION ${OWNERS_FUNCTIONS.join(', ')} TO ${role};
      GRANT DELETE ON ${MAY_DELETE.join(', ')} TO ${role};
      REVOKE UPDATE ON ${APPEND_ONLY.join(', ')} FROM ${role};
      REVOKE INSERT, UPDATE ON ${READ_ONLY.join(', ')} FROM ${role};`);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
