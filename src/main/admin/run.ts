import { ConfigError } from '../../settings.ts';
import { DomainError } from '../../domain/index.ts';
import { SetupError } from '../../setup-error.ts';
import { GatewayRefused, GatewayUnavailable } from '../../payments/gateway/gateway.ts';
import { OrderNotNotifiedError } from '../../payments/settlement/settle-outside.ts';
import { ALERT_COMMANDS } from './alert.ts';
import { AUDIT_COMMANDS } from './audit.ts';
import type { AdminCommand } from './command.ts';
import { parseArguments, UsageError } from './command.ts';
import { DELIVERY_COMMANDS } from './delivery.ts';
import { ERASE_COMMANDS } from './erase.ts';
import { GATEWAY_COMMANDS } from './gateway.ts';
import { helpOfAll, helpOfOne } from './help.ts';
import { KEYS_COMMANDS } from './keys.ts';
import { LEDGER_COMMANDS } from './ledger.ts';
import { MERCHANT_COMMANDS } from './merchant.ts';
import { OPERATOR_COMMANDS } from './operator.ts';
import { ORDER_COMMANDS } from './order.ts';
import { createAdminService } from './service.ts';
import { isTemporalError, temporalLineOf } from './temporal-error.ts';
import { NotConfirmedError } from './terminal.ts';
import { WEBHOOK_COMMANDS } from './webhook.ts';
import { WORKER_COMMANDS } from './worker.ts';

const COMMANDS: readonly AdminCommand[] = [
  ...MERCHANT_COMMANDS,
  ...OPERATOR_COMMANDS,
  ...WEBHOOK_COMMANDS,
  ...DELIVERY_COMMANDS,
  ...ORDER_COMMANDS,
  ...ERASE_COMMANDS,
  ...LEDGER_COMMANDS,
  ...GATEWAY_COMMANDS,
  ...ALERT_COMMANDS,
  ...AUDIT_COMMANDS,
  ...WORKER_COMMANDS,
  ...KEYS_COMMANDS,
];

/** The output and exit code of a command. */
export interface Printed {
  stdout: string;
  stderr: string;
  exitCode: 0 | 1;
}

/**
 * Runs an admin command. Never throws: an error is one line on standard error and exit code 1.
 *
 * @param args the arguments behind `admin`
 * @param findSettings returns the service's environment variables; called if the command needs them
 * @param say receives the lines that a command prints while it runs
 */
export async function runAdmin(
  args: readonly string[],
  findSettings: () => NodeJS.ProcessEnv,
  say: (line: string) => void = () => undefined,
): Promise<Printed> {
  try {
    return await run(args, findSettings, say);
  } catch (error) {
    return { stdout: '', stderr: lineOf(error), exitCode: 1 };
  }
}

async function run(
  args: readonly string[],
  findSettings: () => NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<Printed> {
  const [noun, verb, ...rest] = args;
  const command = COMMANDS.find(({ name }) => name === `${noun} ${verb}`);
  if (!command) return { stdout: helpFor(noun, verb), stderr: '', exitCode: 0 };
  const { values, json, help } = parseArguments(command, rest);
  if (help) return { stdout: helpOfOne(command), stderr: '', exitCode: 0 };
  const service = createAdminService(findSettings(), say);
  try {
    const { data, text, failed = false } = await command.run(service, values as never);
    const stdout = json ? JSON.stringify(data, null, 2) : text;
    return { stdout, stderr: '', exitCode: failed ? 1 : 0 };
  } finally {
    await service.close();
  }
}

/** The requested help. @throws UsageError if no help was requested */
function helpFor(noun: string | undefined, verb: string | undefined): string {
  const isHelp = (word: string | undefined) =>
    word === '--help' || word === '-h' || word === 'help';
  if (isHelp(noun)) return helpOfAll(COMMANDS);
  const ofNoun = COMMANDS.filter(({ name }) => name.startsWith(`${noun} `));
  if (ofNoun.length > 0 && isHelp(verb)) return helpOfAll(ofNoun);
  const typed = [noun, verb].filter((word) => word !== undefined).join(' ');
  const problem = typed === '' ? 'No command given' : `Unknown command: ${typed}`;
  const known = ofNoun.map(({ name }) => name).join(', ');
  throw new UsageError(`${problem}; ${known === '' ? 'see admin --help' : `there are ${known}`}`);
}

const UNREACHABLE = /ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|CONNECT_TIMEOUT|CONNECTION_/;
/** PostgreSQL's code for a table that does not exist. */
const UNDEFINED_TABLE = '42P01';

/** Errors whose message is the line to print. */
const EXPECTED = [
  DomainError,
  SetupError,
  ConfigError,
  UsageError,
  OrderNotNotifiedError,
  NotConfirmedError,
  GatewayUnavailable,
  GatewayRefused,
] as const;

/** The line to print for an error. */
function lineOf(error: unknown): string {
  if (!(error instanceof Error)) return `Unexpected: ${String(error)}`;
  const message = error.message.split('\n')[0] ?? '';
  if (EXPECTED.some((kind) => error instanceof kind)) return message;
  const code = 'code' in error ? String(error.code) : '';
  if (UNREACHABLE.test(code)) return `The database cannot be reached: ${message || code}`;
  if (code === UNDEFINED_TABLE) return 'The database has no schema yet: run npm run migrate';
  return isTemporalError(error) ? temporalLineOf(error) : `Unexpected: ${message}`;
}
