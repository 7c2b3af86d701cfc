import { userInfo } from 'node:os';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { pino } from 'pino';
import type { Config } from '../../config.ts';
import { loadConfig, required } from '../../config.ts';
import type { Sql } from '../../db/client.ts';
import { connectDatabase } from '../../db/client.ts';
import type { SecretBox } from '../../webhooks/secret-box.ts';
import { createSecretBox } from '../../webhooks/secret-box.ts';
import type { Terminal } from './terminal.ts';
import { processTerminal } from './terminal.ts';

/** `ledger verify` reads every order there is. */
const STATEMENT_TIMEOUT_MS = 30 * 60_000;

/** The running service, as the operators' commands see it. */
export interface AdminService {
  readonly config: Config;
  readonly sql: Sql;
  /** Who runs the command, for the audit log. */
  readonly actor: string;
  /** Alerts of the parts that a command uses go to standard error: standard output is the answer. */
  readonly log: Logger;
  /** @throws ConfigError when the key is not configured */
  pepper(): string;
  secretBox(): SecretBox;
  /** Whoever started the command, if there is somebody to ask. */
  readonly terminal: Terminal | undefined;
  /** Connected when it is first needed: loading the client takes longer than most commands. */
  temporal(): Promise<Client>;
  close(): Promise<void>;
}

function actorOf(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // Containers run under user ids that have no name.
    return `cli:uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

/** The service that these settings name. Nothing is connected yet. @throws ConfigError */
export function createAdminService(env: NodeJS.ProcessEnv): AdminService {
  const config = loadConfig(env);
  const databaseUrl = required(config, 'DATABASE_URL');
  const sql = connectDatabase(databaseUrl, {
    name: 'admin',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  let client: Client | undefined;
  return {
    config,
    sql,
    actor: actorOf(),
    terminal: processTerminal(),
    log: pino({ name: 'admin', level: 'warn' }, pino.destination(2)),
    pepper: () => required(config, 'API_SECRET_PEPPER'),
    secretBox: () => createSecretBox(required(config, 'WEBHOOK_SECRET_KEYS')),
    async temporal() {
      const address = required(config, 'TEMPORAL_ADDRESS');
      const { connectTemporal } = await import('../../temporal/client.ts');
      return (client ??= connectTemporal({ address, namespace: config.temporalNamespace }));
    },
    async close() {
      await Promise.all([sql.end({ timeout: 1 }), client?.connection.close()]);
    },
  };
}
