import { proveOperator } from '../../accounts/public.ts';
import type { Actor } from '../../db/actor.ts';
import type { Alongside } from '../../db/alongside.ts';
import { DomainError } from '../../domain/index.ts';
import type { ActAlone } from '../../proposals/break-glass.ts';
import { breakGlass } from '../../proposals/break-glass.ts';
import type { AdminService } from './service.ts';

/** The options of a command that needs two operators. */
export const ALONE = {
  as: { value: 'EMAIL', help: 'The operator who acts alone, with --break-glass' },
  'break-glass': {
    flag: true,
    help: 'Act alone in an emergency: asks for password and code; all operators and the merchant get a mail',
  },
} as const;

/** The reason of a command that has none otherwise. */
export const REASON_ALONE = {
  value: 'TEXT',
  help: 'Why, with --break-glass: for the audit log and the mails',
} as const;

/** The last lines of the help of such a command. */
export const ALONE_NOTES = `Two operators do it on the dashboard: one proposes, another one approves. Here it exists only as
--as EMAIL --break-glass --reason TEXT. The password and the two-factor code are asked for on the terminal, or are the
first two lines of standard input.`;

/** What was typed of {@link ALONE}. */
export interface TypedAlone {
  readonly as: string | undefined;
  readonly 'break-glass': boolean;
  readonly reason: string | undefined;
}

/** Whether the command was typed as an act alone. @throws DomainError if it is not complete */
export function assertAlone(
  command: string,
  typed: TypedAlone,
): asserts typed is { as: string; 'break-glass': true; reason: string } {
  const isWhole = typed['break-glass'] && typed.as !== undefined && typed.reason !== undefined;
  if (isWhole) return;
  const message = `${command} needs two operators: propose it on the dashboard, or add --as EMAIL --break-glass --reason TEXT`;
  throw new DomainError('NOT_PERMITTED', message);
}

/**
 * Asks the operator for password and code.
 *
 * @returns who acts, and what the statement of the act also writes
 * @throws DomainError `BAD_REQUEST`, `NOT_PERMITTED`
 */
export async function actAlone(
  service: AdminService,
  email: string,
  act: Omit<ActAlone, 'terminal'>,
): Promise<{ actor: Actor; alongside: Alongside }> {
  const { sql, actor } = service;
  const dataBox = service.dataBox();
  const [password = '', code = ''] = await service.askSecrets(['Password', 'Two-factor code']);
  const given = { email, password, code };
  const operator = await proveOperator({ sql, dataBox, nowMs: Date.now }, given, actor);
  return breakGlass({ sql, mailBox: dataBox }, operator, { ...act, terminal: actor.name });
}
