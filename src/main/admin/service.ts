import { userInfo } from 'node:os';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { pino } from 'pino';
import type { Config } from '../../config.ts';
import { loadConfig, loadConfigOver, required } from '../../config.ts';
import type { Sql } from '../../db/client.ts';
import { connectDatabase } from '../../db/client.ts';
import type { DevFacts } from '../../local/dev-facts.ts';
import { readDevFacts } from '../../local/dev-facts.ts';
import { SetupError } from '../../local/setup-error.ts';
import type { SecretBox } from '../../webhooks/secret-box.ts';
import { createSecretBox } from '../../webhooks/secret-box.ts';
import type { Terminal } from './terminal.ts';
import { ownTerminal } from './terminal.ts';

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
  /** Where Temporal's own UI is, when we know. */
  readonly temporalUiUrl: string | undefined;
  /** Connected when it is first needed: loading the client takes longer than most commands. */
  temporal(): Promise<Client>;
  close(): Promise<void>;
}

/**
 * The settings of the service: those of this process over those that `npm start` left in DATA_DIR.
 * A DATABASE_URL of its own means another service, of which that file says nothing.
 *
 * @throws SetupError when neither tells where the service is; ConfigError
 */
function findConfig(env?: NodeJS.ProcessEnv): {
  config: Config;
  temporalUiUrl?: string | undefined;
} {
  const own = loadConfig(env);
  let facts: DevFacts;
  try {
    facts = readDevFacts(own.dataDir);
  } catch (error) {
    if (own.databaseUrl !== undefined) return { config: own };
    if (!(error instanceof SetupError)) throw error;
    throw new SetupError(`${error.message}, or set DATABASE_URL`, { cause: error });
  }
  const databaseUrl = facts.environment['DATABASE_URL'];
  const isAnother = own.databaseUrl !== undefined && own.databaseUrl !== databaseUrl;
  if (isAnother) return { config: own };
  return { config: loadConfigOver(facts.environment, env), temporalUiUrl: facts.temporalUiUrl };
}

function actorOf(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // Containers run under user ids that have no name.
    return `cli:uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Finds the service. Nothing is connected yet. @throws SetupError, ConfigError */
export function findService(env?: NodeJS.ProcessEnv): AdminService {
  const { config, temporalUiUrl } = findConfig(env);
  const databaseUrl = required(config.databaseUrl, 'DATABASE_URL', 'a postgres:// address');
  const sql = connectDatabase(databaseUrl, {
    name: 'admin',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  let client: Client | undefined;
  return {
    config,
    sql,
    actor: actorOf(),
    terminal: ownTerminal(),
    temporalUiUrl,
    log: pino({ name: 'admin', level: 'warn' }, pino.destination(2)),
    pepper: () => required(config.apiSecretPepper, 'API_SECRET_PEPPER', 'at least 32 characters'),
    secretBox: () =>
      createSecretBox(
        required(config.webhookSecretKeys, 'WEBHOOK_SECRET_KEYS', 'id:base64 of 32 bytes'),
      ),
    async temporal() {
      const address = required(config.temporalAddress, 'TEMPORAL_ADDRESS', 'host:port');
      const { connectTemporal } = await import('../../temporal/client.ts');
      return (client ??= connectTemporal({ address, namespace: config.temporalNamespace }));
    },
    async close() {
      await Promise.all([sql.end({ timeout: 1 }), client?.connection.close()]);
    },
  };
}
