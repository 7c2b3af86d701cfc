import { DomainError } from '../../domain/index.ts';
import { GatewayRefused, GatewayUnavailable } from '../../payments/gateway/gateway.ts';
import { OrderNotNotifiedError } from '../../payments/settlement/settle-outside.ts';
import { REFUSED } from '../../proposals/queries.ts';
import { ConfigError } from '../../settings.ts';
import { SetupError } from '../../setup-error.ts';
import { ALERT_COMMANDS } from './alert.ts';
import { asksForHelp, parseArguments, UsageError } from '../process/command-line.ts';
import type { AdminCommand } from './command.ts';
import { helpOfAll, helpOfOne, IMAGE_PROGRAM, JSON_OPTION } from './command.ts';
import { ERASE_COMMANDS } from './erase.ts';
import { GATEWAY_COMMANDS } from './gateway.ts';
import { KEYS_COMMANDS } from './keys.ts';
import { LEDGER_COMMANDS } from './ledger.ts';
import { MERCHANT_COMMANDS } from './merchant.ts';
import { OPERATOR_COMMANDS } from './operator.ts';
import { ORDER_ACTIONS } from './order-actions.ts';
import { ORDER_COMMANDS } from './order.ts';
import type { AdminIo, AdminProgram } from './service.ts';
import {
  createAdminService,
  isTemporalError,
  NotConfirmedError,
  temporalLineOf,
} from './service.ts';
import { facts } from './text.ts';
import { WEBHOOK_COMMANDS } from './webhook.ts';
import { WORKER_COMMANDS } from './worker.ts';

/** The commands as the help lists them. */
const GROUPS = {
  Orders: [...ORDER_COMMANDS, ...ORDER_ACTIONS, ...ERASE_COMMANDS],
  'Merchants and operators': [...MERCHANT_COMMANDS, ...OPERATOR_COMMANDS],
  Webhooks: WEBHOOK_COMMANDS,
  'The service': [
    ...LEDGER_COMMANDS,
    ...ALERT_COMMANDS,
    ...GATEWAY_COMMANDS,
    ...WORKER_COMMANDS,
    ...KEYS_COMMANDS,
  ],
} as const satisfies Record<string, readonly AdminCommand[]>;

const COMMANDS: readonly AdminCommand[] = Object.values(GROUPS).flat();

/** The output and exit code of a command: 1 if it was refused or has failed, 2 if it was typed wrong. */
export interface Printed {
  stdout: string;
  stderr: string;
  exitCode: 0 | 1 | 2;
}

/**
 * Runs the admin command line with this process's arguments, and ends the process with its exit code.
 *
 * @param findSettings returns the service's environment variables; called if the command needs them
 * @param program how the command line is called here; by default as in the image
 */
export async function adminMain(
  findSettings: () => NodeJS.ProcessEnv,
  program: AdminProgram = IMAGE_PROGRAM,
): Promise<void> {
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const { stdout, stderr, exitCode } = await runAdmin(process.argv.slice(2), findSettings, {
    program,
    say,
  });
  // A reader that closes the pipe early, such as head, is not an error.
  process.stdout.on('error', () => undefined);
  if (stderr !== '') process.stderr.write(`${stderr}\n`);
  // What a library keeps open must not prolong the command; the output may still be in the pipe.
  process.stdout.write(stdout === '' ? '' : `${stdout}\n`, () => process.exit(exitCode));
}

/**
 * Runs an admin command. Never throws: an error is one line on standard error.
 *
 * @param args the arguments behind `admin`
 * @param findSettings returns the service's environment variables; called if the command needs them
 * @param io receives the lines that a command prints while it runs, and answers its questions
 */
export async function runAdmin(
  args: readonly string[],
  findSettings: () => NodeJS.ProcessEnv,
  io: AdminIo = {},
): Promise<Printed> {
  const [noun, verb, ...rest] = args;
  const command = COMMANDS.find(({ name }) => name === `${noun} ${verb}`);
  try {
    if (!command) return { stdout: helpFor(noun, verb, io), stderr: '', exitCode: 0 };
    return await run(command, rest, findSettings, io);
  } catch (error) {
    if (!(error instanceof UsageError)) {
      return { stdout: '', stderr: lineOf(error), exitCode: 1 };
    }
    const subject = command ? `admin ${command.name}` : 'admin';
    const help = `--help lists the ${command ? 'options' : 'commands'}`;
    return { stdout: '', stderr: `${subject}: ${error.message}; ${help}`, exitCode: 2 };
  }
}

async function run(
  command: AdminCommand,
  args: readonly string[],
  findSettings: () => NodeJS.ProcessEnv,
  io: AdminIo,
): Promise<Printed> {
  if (asksForHelp(args))
    return { stdout: helpOfOne(command, programOf(io)), stderr: '', exitCode: 0 };
  const { values } = parseArguments({ ...command.options, ...JSON_OPTION }, args);
  const { json, ...own } = values;
  const service = createAdminService(findSettings(), io);
  try {
    const { data, text, failed = false } = await command.run(service, own as never);
    const stdout = json ? JSON.stringify(data, null, 2) : (text ?? facts(data));
    return { stdout, stderr: '', exitCode: failed ? 1 : 0 };
  } finally {
    await service.close();
  }
}

const programOf = ({ program = IMAGE_PROGRAM }: AdminIo) => program;

/** The requested help. @throws UsageError if no help was requested */
function helpFor(noun: string | undefined, verb: string | undefined, io: AdminIo): string {
  const isHelp = (word: string | undefined) =>
    word === '--help' || word === '-h' || word === 'help';
  if (isHelp(noun)) return helpOfAll(GROUPS, programOf(io));
  const ofNoun = COMMANDS.filter(({ name }) => name.startsWith(`${noun} `));
  if (ofNoun.length > 0 && isHelp(verb)) return helpOfAll({ [`${noun}`]: ofNoun }, programOf(io));
  const typed = [noun, verb].filter((word) => word !== undefined).join(' ');
  if (typed === '') throw new UsageError('no command was given');
  const known = ofNoun.map(({ name }) => name).join(', ');
  throw new UsageError(`there is no command ${typed}${known === '' ? '' : `, only ${known}`}`);
}

const UNREACHABLE = /ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|CONNECT_TIMEOUT|CONNECTION_/;
/** PostgreSQL's code for a table that does not exist. */
const UNDEFINED_TABLE = '42P01';

/** Errors whose message is the line to print. */
const EXPECTED = [
  DomainError,
  SetupError,
  ConfigError,
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
  if (code === REFUSED) return message;
  if (code === UNDEFINED_TABLE)
    return 'The database has no schema yet: node src/main/migrate.ts makes it';
  return isTemporalError(error) ? temporalLineOf(error) : `Unexpected: ${message}`;
}
