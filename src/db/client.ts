import postgres from 'postgres';

/** The database. Each call is one statement, and each statement is atomic: see docs/adr. */
export type Sql = postgres.Sql;

const RECONNECT_AFTER_SECONDS = 0.25;

/**
 * The column `order_number` is `orderNumber` in a row, and in `sql(row)`. Only names change:
 * `postgres.camel` would rename the keys within stored JSON, too.
 */
export const COLUMN_NAMES = { column: { from: postgres.toCamel, to: postgres.fromCamel } };

/**
 * Opens a pool. Paise and step numbers come back as numbers: bigint columns here stay far below
 * 2^53.
 *
 * @param options.maxConnections of this process
 * @param options.statementTimeoutMs after which the database gives a statement up
 */
export function connectDatabase(
  url: string,
  { maxConnections = 10, name = 'service', statementTimeoutMs = 10_000 } = {},
): Sql {
  return postgres(url, {
    max: maxConnections,
    connect_timeout: 4,
    // postgres.js would wait up to 20 s between two tries: that long after the database is back.
    backoff: () => RECONNECT_AFTER_SECONDS,
    idle_timeout: 60,
    onnotice: () => {},
    connection: { application_name: name, statement_timeout: statementTimeoutMs },
    transform: COLUMN_NAMES,
    types: {
      paise: { to: 20, from: [20], serialize: String, parse: Number },
    },
  });
}

/**
 * A row as JSON for SQL functions such as `record_step`: its keys are named as columns, what is
 * within its values stays as it is. Dates become ISO-8601 texts.
 */
export function jsonRow(sql: Sql, row: object) {
  const columns = Object.entries(row).map(([name, value]) => [postgres.fromCamel(name), value]);
  // postgres.js serialises it; its own type of JSON knows no dates.
  return sql.json(Object.fromEntries(columns) as postgres.JSONValue);
}
