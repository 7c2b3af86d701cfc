import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Client } from '@temporalio/client';
import { pino } from 'pino';
import { loadConfig, required } from '../../config.ts';
import type { Actor } from '../../db/actor.ts';
import { connectDatabase } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import type { GatewayOptions } from '../../payments/gateway/adapter.ts';
import type { Gateways } from '../../payments/gateway/gateways.ts';
import { createSecretBox } from '../../secret-box.ts';
import type { OrderWorkflows } from '../../temporal/order-workflows.ts';

const GATEWAY_TIMEOUT_MS = 10_000;
/** Long, because `ledger verify` reads every order. */
const STATEMENT_TIMEOUT_MS = 30 * 60_000;

function actorOf(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // Containers run under user ids that have no name.
    return `cli:uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

/**
 * Shows the consequences of a command on the operator's terminal and asks for confirmation. In a script, which has no
 * terminal, it does nothing.
 *
 * @param isYes whether the operator has typed `--yes`: nothing is asked
 * @param describe returns the consequences as text
 * @throws DomainError `BAD_REQUEST` unless the operator answers yes
 */
async function confirmOnTerminal(isYes: boolean, describe: () => Promise<string>): Promise<void> {
  // The question goes to standard error: standard output is the command's result.
  const { stdin: input, stderr: output } = process;
  if (isYes || !input.isTTY || !output.isTTY) return;
  const question = `${await describe()}\n\nContinue? [y/N] `;
  const lines = createInterface({ input, output });
  const ended = new Promise<''>((resolve) => lines.once('close', () => resolve('')));
  try {
    const answer = await Promise.race([lines.question(question), ended]);
    if (!/^y(es)?$/i.test(answer.trim())) throw new DomainError('BAD_REQUEST', 'Nothing was done');
  } finally {
    lines.close();
  }
}

/**
 * Asks for what must not be in the arguments or on the screen: on the terminal, or, without one, the first lines of
 * standard input.
 *
 * @param names what each is
 */
async function askSecrets(names: readonly string[]): Promise<string[]> {
  const { stdin: input, stderr } = process;
  const isTerminal = input.isTTY && stderr.isTTY;
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({
    input,
    output: isTerminal ? hidden : undefined,
    terminal: isTerminal,
  });
  const iterator = lines[Symbol.asyncIterator]();
  const secrets: string[] = [];
  try {
    for (const name of names) {
      if (isTerminal) stderr.write(`${name}: `);
      const { value, done } = await iterator.next();
      if (isTerminal) stderr.write('\n');
      if (done)
        throw new DomainError(
          'BAD_REQUEST',
          `Nothing was done: no ${name.toLowerCase()} was given`,
        );
      secrets.push(value);
    }
    return secrets;
  } finally {
    lines.close();
  }
}

/** How the command line is called here, which the help says. */
export interface AdminProgram {
  /** What is typed before the command. */
  readonly call: string;
  /** Which service the commands use, as a sentence. */
  readonly uses: string;
}

/** What a command prints while it runs, and asks for. */
export interface AdminIo {
  /** By default the image's. */
  program?: AdminProgram;
  /** Prints a line while the command runs: standard output is the command's result. */
  say?: (line: string) => void;
  askSecrets?: typeof askSecrets;
}

/** The resources of an admin command. */
export type AdminService = ReturnType<typeof createAdminService>;

/**
 * Creates the resources of a command; connections are opened on first use.
 *
 * @param env the service's environment variables
 * @param io receives the lines that the command prints while it runs, and answers its questions
 * @throws ConfigError
 */
export function createAdminService(env: NodeJS.ProcessEnv, io: AdminIo) {
  const config = loadConfig(env);
  const databaseUrl = required(config, 'DATABASE_URL');
  const sql = connectDatabase(databaseUrl, {
    name: 'admin',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  /** Who runs the command, for the audit log. */
  const actor: Actor = { name: actorOf(), address: null };
  const log = pino({ name: 'admin', level: 'warn' }, pino.destination(2));
  let opened: Promise<{ client: Client }> | undefined;
  return {
    config,
    sql,
    actor,
    say: io.say ?? (() => undefined),
    confirm: confirmOnTerminal,
    askSecrets: io.askSecrets ?? askSecrets,
    /** Writes to standard error: standard output is the command's result. */
    log,
    /** @throws ConfigError if the setting is missing, as the two boxes do */
    pepper: () => required(config, 'API_SECRET_PEPPER'),
    secretBox: () => createSecretBox(required(config, 'WEBHOOK_SECRET_KEYS')),
    dataBox: () => createSecretBox(required(config, 'DATA_ENCRYPTION_KEYS')),
    /** Connects on first use, because loading the client takes longer than most commands. */
    async temporal(): Promise<Client> {
      const { openTemporal } = await import('../process/temporal.ts');
      return (await (opened ??= openTemporal(config, log))).client;
    },
    /** The workflows of orders, over the same connection. */
    async workflows(): Promise<OrderWorkflows> {
      const { createOrderWorkflows } = await import('../../temporal/order-workflows.ts');
      return createOrderWorkflows(await this.temporal());
    },
    /** @param onAnswer receives each request to the gateways with its answer */
    async gateways(onAnswer?: GatewayOptions['onAnswer']): Promise<Gateways> {
      const { composeGateways } = await import('../compose/compose.ts');
      return composeGateways({ config, sql, log }, GATEWAY_TIMEOUT_MS, onAnswer);
    },
    async close(): Promise<void> {
      const client = await opened?.then((temporal) => temporal.client).catch(() => undefined);
      await Promise.all([sql.end({ timeout: 1 }), client?.connection.close()]);
    },
  };
}

/**
 * True for a gRPC error, bare or wrapped by Temporal's client. It does not use the client's own
 * check, because loading the client is slow.
 */
function isTemporalError(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const hasStatus = 'code' in error && typeof error.code === 'number';
  return hasStatus || error.name === 'ServiceError' || isTemporalError(error.cause);
}

/** The line to print for an error of Temporal; undefined for another error. */
export function temporalLineOf(error: unknown): string | undefined {
  if (!isTemporalError(error)) return undefined;
  return `Temporal cannot be reached: ${error.message.split('\n')[0] ?? ''}`;
}
