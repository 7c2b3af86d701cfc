import postgres from 'postgres';

/** The database. Each call is one statement, and each statement is atomic: see docs/adr. */
export type Sql = postgres.Sql;

/**
 * Opens a pool. Paise and step numbers come back as numbers: bigint columns here stay far below
 * 2^53.
 *
 * @param maxConnections of this process
 */
export function connectDatabase(url: string, { maxConnections = 10, name = 'service' } = {}): Sql {
  return postgres(url, {
    max: maxConnections,
    connect_timeout: 4,
    idle_timeout: 60,
    onnotice: () => {},
    connection: { application_name: name, statement_timeout: 10_000 },
    types: {
      paise: { to: 20, from: [20], serialize: String, parse: Number },
    },
  });
}
