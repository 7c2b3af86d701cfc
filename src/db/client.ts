import { Socket } from 'node:net';
import postgres from 'postgres';

/** A connection pool. Each call is one statement, and each statement is atomic: see docs/adr. */
export type Sql = postgres.Sql;

/**
 * Reads the database's time, as text, which keeps its microseconds. It is the time of a question to a gateway that is asked
 * afterwards. The time since the question, measured here, is too short if the statement that passes it has to wait.
 */
export async function databaseTime(sql: Sql): Promise<string> {
  const [row] = await sql<[{ now: string }]>`SELECT service_now()::text AS now`;
  return row.now;
}

const RECONNECT_AFTER_SECONDS = 0.25;

/** How long after its time limit a statement may be without a response. */
const RESPONSE_DELAY_MS = 5000;

/**
 * Renames columns: `order_number` is `orderNumber` in a row and in `sql(row)`. `postgres.camel`
 * would also rename the keys of stored JSON.
 */
export const COLUMN_NAMES = { column: { from: postgres.toCamel, to: postgres.fromCamel } };

/**
 * Opens a pool. bigint columns (paise, step numbers) are returned as numbers: their values stay far
 * below 2^53.
 *
 * @param options.maxConnections of this process
 * @param options.statementTimeoutMs the time after which the database cancels a statement
 */
export function connectDatabase(
  url: string,
  { maxConnections = 10, name = 'service', statementTimeoutMs = 10_000 } = {},
): Sql {
  const options = {
    max: maxConnections,
    connect_timeout: 4,
    // The default is up to 20 s between attempts, also after the database is reachable again.
    backoff: () => RECONNECT_AFTER_SECONDS,
    // Before the socket's limit, which could otherwise end a connection that a statement has just taken.
    idle_timeout: 10,
    onnotice: () => {},
    connection: { application_name: name, statement_timeout: statementTimeoutMs },
    transform: COLUMN_NAMES,
    types: {
      paise: { to: 20, from: [20], serialize: String, parse: Number },
    },
    // Documented, but not part of the library's types.
    socket: sockets(statementTimeoutMs + RESPONSE_DELAY_MS),
  };
  return postgres(url, options);
}

/** Opens sockets as postgres.js does: to each host of the URL in turn. */
function sockets(silenceMs: number) {
  let opened = 0;
  return ({ host, port, path }: { host: string[]; port: number[]; path: string | false }) => {
    const socket = new DatabaseSocket(silenceMs);
    if (path) return socket.connect(path);
    const index = opened++ % host.length;
    // TLS checks this name.
    socket.host = host[index] ?? '';
    return socket.connect(port[index] ?? 5432, socket.host);
  };
}

/**
 * A socket that ends after a silence. The database cancels a statement before that, so its host is gone, or the network
 * to it. Linux would wait for a quarter of an hour. github.com/porsager/postgres/issues/1089
 */
class DatabaseSocket extends Socket {
  host = '';

  constructor(silenceMs: number) {
    super();
    this.setTimeout(silenceMs);
  }

  // Not a listener: postgres.js removes all of them when it begins TLS.
  override emit(event: string | symbol, ...values: unknown[]): boolean {
    if (event === 'timeout') this.destroy();
    return super.emit(event, ...values);
  }
}

/** A value as JSON, with its keys unchanged. Its dates become ISO-8601 texts. */
export function json(sql: Sql, value: object) {
  // postgres.js serializes dates and interfaces, but its JSON type does not include them.
  return sql.json(value as postgres.JSONValue);
}

/**
 * A row as JSON for SQL functions such as `record_step`: its keys become column names, its values
 * are unchanged except that dates become ISO-8601 texts.
 */
export function jsonRow(sql: Sql, row: object) {
  const columns = Object.entries(row).map(([name, value]) => [postgres.fromCamel(name), value]);
  return json(sql, Object.fromEntries(columns));
}

/**
 * Makes a query that becomes part of the statement of a change, such as the record that a proposal is carried out.
 * An error of the query undoes the change, so neither happens without the other.
 *
 * @param changed the WITH query that has a row if the change is made
 */
export type Alongside = (sql: Sql, changed: string) => postgres.Fragment;

/** The WITH query `alongside`, after the others of the statement. */
export const alongsideQuery = (sql: Sql, alongside: Alongside | undefined, changed: string) =>
  alongside ? sql`, alongside AS (${alongside(sql, changed)})` : sql``;

/** The end of the statement's FROM. A query that is not read does not run. */
export const andAlongside = (sql: Sql, alongside: Alongside | undefined) =>
  alongside ? sql`LEFT JOIN alongside ON true` : sql``;

/**
 * Whether an unhandled rejection is that of postgres.js's own first query of a connection, whose promise
 * has no handler: it fails when the connection ends meanwhile, and the query that wanted the connection gets
 * another one. github.com/porsager/postgres/issues/1192
 */
export function isLostTypesQuery(error: unknown): boolean {
  const { query } = Object(error) as { query?: unknown };
  return typeof query === 'string' && query.includes('b.typarray');
}
