import { isLostTypesQuery } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import { GatewayRefused, GatewayUnavailable } from '../../payments/gateway/gateway.ts';
import { OrderNotNotifiedError } from '../../payments/settlement/settle-outside.ts';
import { REFUSED } from '../../proposals/queries.ts';
import { ConfigError } from '../../settings.ts';
import { SetupError } from '../../setup-error.ts';
import { asksForHelp, flagOption, helpOf } from '../process/command-line.ts';
import { parseArguments, UsageError } from '../process/command-line.ts';
import { MERCHANT_COMMANDS, OPERATOR_COMMANDS } from './accounts.ts';
import type { AdminCommand, AdminCommands } from './command.ts';
import { GATEWAY_COMMANDS } from './gateway.ts';
import { LEDGER_COMMANDS } from './ledger.ts';
import { ORDER_ACTIONS } from './order-actions.ts';
import { ERASE_COMMANDS, ORDER_COMMANDS } from './order.ts';
import type { AdminIo, AdminProgram } from './service.ts';
import { createAdminService, temporalLineOf } from './service.ts';
import { facts } from './text.ts';
import { ALERT_COMMANDS, KEYS_COMMANDS, WORKER_COMMANDS } from './upkeep.ts';
import { WEBHOOK_COMMANDS } from './webhook.ts';

/** The commands as the help lists them. */
const GROUPS = {
  Orders: { ...ORDER_COMMANDS, ...ORDER_ACTIONS, ...ERASE_COMMANDS },
  'Merchants and operators': { ...MERCHANT_COMMANDS, ...OPERATOR_COMMANDS },
  Webhooks: WEBHOOK_COMMANDS,
  'The service': {
    ...LEDGER_COMMANDS,
    ...ALERT_COMMANDS,
    ...GATEWAY_COMMANDS,
    ...WORKER_COMMANDS,
    ...KEYS_COMMANDS,
  },
};

const COMMANDS = new Map(
  Object.values<AdminCommands>(GROUPS).flatMap(Object.entries<AdminCommand>),
);

/** The program of the image, which has no npm. */
const IMAGE_PROGRAM: AdminProgram = {
  call: 'node src/main/admin.ts',
  uses: "The commands use the service of this process's environment: docs/settings.md.",
};

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
  process.on('unhandledRejection', (error) => {
    if (!isLostTypesQuery(error)) throw error;
  });
  const args = process.argv.slice(2);
  const { stdout, stderr, exitCode } = await runAdmin(args, findSettings, { program, say });
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
  const name = `${noun} ${verb}`;
  const command = COMMANDS.get(name);
  const program = io.program ?? IMAGE_PROGRAM;
  const helped = (stdout: string): Printed => ({ stdout, stderr: '', exitCode: 0 });
  try {
    if (!command) return helped(helpFor(program, noun, verb));
    const { summary, notes } = command;
    const options = { ...command.options, json: flagOption('Print one JSON document') };
    const usage = `${program.call} ${name}`;
    if (asksForHelp(rest)) return helped(helpOf({ usage, does: `${summary}.`, options, notes }));
    const { json, ...own } = parseArguments(options, rest).values;
    const service = createAdminService(findSettings(), io);
    try {
      const { data, text, failed } = await command.run(service, own as never);
      const stdout = json ? JSON.stringify(data, null, 2) : (text ?? facts(data));
      return { stdout, stderr: '', exitCode: failed ? 1 : 0 };
    } finally {
      await service.close();
    }
  } catch (error) {
    if (!(error instanceof UsageError)) return { stdout: '', stderr: lineOf(error), exitCode: 1 };
    const subject = command ? `admin ${name}` : 'admin';
    const help = `--help lists the ${command ? 'options' : 'commands'}`;
    return { stdout: '', stderr: `${subject}: ${error.message}; ${help}`, exitCode: 2 };
  }
}

/** The help of commands that belong together: their name, and one line for each command. */
function helpOfAll(
  groups: Readonly<Record<string, AdminCommands>>,
  { call, uses }: AdminProgram,
): string {
  const names = Object.values(groups).flatMap((group) => Object.keys(group));
  const width = Math.max(...names.map((name) => name.length));
  const lines = Object.entries(groups).flatMap(([title, group]) => [
    title,
    ...Object.entries(group).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`),
  ]);
  return `Usage: ${call} <command> [options]

${lines.join('\n')}

<command> --help lists its options; --json prints one JSON document.
${uses}`;
}

const HELP = ['--help', '-h', 'help'];

/** The requested help. @throws UsageError if no help was requested */
function helpFor(program: AdminProgram, noun = '', verb = ''): string {
  if (HELP.includes(noun)) return helpOfAll(GROUPS, program);
  const ofNoun = [...COMMANDS].filter(([name]) => name.startsWith(`${noun} `));
  if (ofNoun.length > 0 && HELP.includes(verb)) {
    return helpOfAll({ [noun]: Object.fromEntries(ofNoun) }, program);
  }
  if (noun === '') throw new UsageError('no command was given');
  const known = ofNoun.map(([name]) => name).join(', ');
  const typed = `${noun} ${verb}`.trim();
  throw new UsageError(`there is no command ${typed}${known === '' ? '' : `, only ${known}`}`);
}

/** Codes of Node, of postgres.js, and of a PostgreSQL that starts or stops. */
const UNREACHABLE =
  /ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|CONNECT_TIMEOUT|CONNECTION_|57P0[1-3]/;
/** PostgreSQL's code for a table that does not exist. */
const UNDEFINED_TABLE = '42P01';

/** Errors whose message is the line to print. */
const EXPECTED = [
  DomainError,
  SetupError,
  ConfigError,
  OrderNotNotifiedError,
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
  return temporalLineOf(error) ?? `Unexpected: ${message}`;
}
