import postgres from 'postgres';

/** What happened stays as it is written down: these tables are appended to and read. */
const APPEND_ONLY = ['audit_log', 'ledger_transfers', 'webhook_attempts'];

/** Only these ever lose rows. */
const MAY_DELETE = ['order_requests', 'rate_limits', 'unstarted_orders'];

/** Kept by the migrations themselves. */
const READ_ONLY = ['schema_version'];

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/**
 * Gives a login what the API, the worker and `admin` need: it reads and writes rows, and cannot
 * change a table, or rewrite what is only ever appended to. Safe to repeat; each migration run does.
 *
 * @param ownerUrl the address of the login that owns the tables
 * @param login the name of the login that gets the privileges
 */
export async function grantServicePrivileges(ownerUrl: string, login: string): Promise<void> {
  const sql = postgres(ownerUrl, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  const role = quoted(login);
  try {
    await sql.unsafe(`
      GRANT USAGE ON SCHEMA public TO ${role};
      GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO ${role};
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${role};
      GRANT DELETE ON ${MAY_DELETE.join(', ')} TO ${role};
      REVOKE UPDATE ON ${APPEND_ONLY.join(', ')} FROM ${role};
      REVOKE INSERT, UPDATE ON ${READ_ONLY.join(', ')} FROM ${role};`);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
