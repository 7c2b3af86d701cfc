import { proveOperator } from '../../accounts/public.ts';
import { DomainError } from '../../domain/index.ts';
import type { ActAlone } from '../../proposals/break-glass.ts';
import { breakGlass } from '../../proposals/break-glass.ts';
import type { ValuesOf } from '../process/command-line.ts';
import type { AdminService } from './service.ts';

/** The options of a command that needs two operators, and has a reason of its own. */
export const AS_ALONE = {
  as: { value: 'EMAIL', help: 'The operator who acts alone, with --break-glass' },
  'break-glass': {
    flag: true,
    help: 'Act alone in an emergency: asks for password and code; all operators and the merchant get a mail',
  },
} as const;

/** The options of another command that needs two operators. */
export const ALONE = {
  reason: { value: 'TEXT', help: 'Why, with --break-glass: for the audit log and the mails' },
  ...AS_ALONE,
} as const;

/** The last lines of the help of such a command. */
export const ALONE_NOTES = `Two operators do it on the dashboard: one proposes, another one approves. Here it exists only as
--as EMAIL --break-glass --reason TEXT. The password and the two-factor code are asked for on the terminal, or are the
first two lines of standard input.`;

/**
 * Checks that a command which needs two operators was typed as the act of one.
 *
 * @returns asks the operator for password and code; returns who acts, and what the statement of the act also
 *   writes; throws DomainError `BAD_REQUEST`, `NOT_PERMITTED`
 * @throws DomainError `NOT_PERMITTED` if an option is missing
 */
export function typedAlone(
  service: AdminService,
  command: string,
  { as: email, 'break-glass': isAlone, reason }: ValuesOf<typeof ALONE>,
) {
  if (!isAlone || email === undefined || reason === undefined) {
    const message = `${command} needs two operators: propose it on the dashboard, or add --as EMAIL --break-glass --reason TEXT`;
    throw new DomainError('NOT_PERMITTED', message);
  }
  return async (act: Omit<ActAlone, 'terminal' | 'reason'>) => {
    const { sql, actor } = service;
    const dataBox = service.dataBox();
    const [password = '', code = ''] = await service.askSecrets(['Password', 'Two-factor code']);
    const given = { email, password, code };
    const operator = await proveOperator({ sql, dataBox, nowMs: Date.now }, given, actor);
    const by = { ...act, reason, terminal: actor.name };
    return breakGlass({ sql, mailBox: dataBox }, operator, by);
  };
}
