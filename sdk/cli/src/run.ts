import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { PayordersError } from '../../typescript/src/index.ts';
import { webhookVerify } from './check-webhook.ts';
import type { Command, Context, ExitCode } from './command.ts';
import { EXIT, UsageError } from './command.ts';
import { doctor } from './doctor.ts';
import { EVENT_COMMANDS } from './events.ts';
import { listen } from './listen.ts';
import { prove } from './prove.ts';
import { clientOf, withoutSecrets } from './settings.ts';

const COMMANDS: readonly Command[] = [listen, ...EVENT_COMMANDS, webhookVerify, prove, doctor];

/** What `payorders --help` prints. */
const HELP = `payorders COMMAND [--json]

${COMMANDS.map(({ name, usage, does }) => `  ${`${name} ${usage}`.trim()}\n      ${does}`).join('\n')}

Variables: PAYORDERS_API_KEY, PAYORDERS_API_SECRET, PAYORDERS_WEBHOOK_SECRET (several with commas for webhook verify),
PAYORDERS_BASE_URL (http://127.0.0.1:8080).

Exit codes: 0 done; 1 refused, or a check failed; 2 wrong command line or variable; 3 the service did not answer, or only
that it cannot now.
`;

/** Where a program writes, and when it ends. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  out(text: string): void;
  err(text: string): void;
  /** Replaces the waits, for tests. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** @throws UsageError */
function commandOf(args: readonly string[]): { command: Command; rest: string[] } {
  for (const length of [2, 1]) {
    const command = COMMANDS.find(({ name }) => name === args.slice(0, length).join(' '));
    if (command) return { command, rest: args.slice(length) };
  }
  throw new UsageError(
    `${args.slice(0, 2).join(' ') || 'The command'} is unknown: payorders --help`,
  );
}

/** @throws UsageError */
function parse({ options = {} }: Command, args: string[]) {
  try {
    return parseArgs({
      args,
      options: { ...options, json: { type: 'boolean' } },
      allowPositionals: true,
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof UsageError) return EXIT.usage;
  if (!(error instanceof PayordersError)) return EXIT.failed;
  if (/^(WRONG_ENVIRONMENT$|MALFORMED_)/.test(error.code)) return EXIT.usage;
  return error.isRetryable ? EXIT.unreachable : EXIT.failed;
}

const sleepFor = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal }).catch(() => undefined);

/** Runs one command. @returns the exit code */
export async function runCli(args: readonly string[], around: Surroundings): Promise<ExitCode> {
  const { env, signal, out, err, sleep = sleepFor } = around;
  if (args.length === 0 || args.includes('--help')) {
    out(HELP);
    return args.length === 0 ? EXIT.usage : EXIT.done;
  }
  try {
    const { command, rest } = commandOf(args);
    const { values, positionals } = parse(command, rest);
    const isJson = 'json' in values && values['json'];
    const base = {
      env,
      signal,
      sleep: (ms: number) => sleep(ms, signal),
      print: (text: string, data: unknown) =>
        out(`${withoutSecrets(isJson ? JSON.stringify(data) : text, env)}\n`),
    };
    const context: Context = { ...base, client: () => clientOf(base) };
    return await command.run(context, { values, words: positionals });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    err(`${withoutSecrets(text, env)}\n`);
    return exitCodeOf(error);
  }
}
