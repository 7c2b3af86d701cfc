import { readFileSync, writeFileSync } from 'node:fs';
import type { OperatorAction, SecondPerson } from '../src/accounts/people/permissions.ts';
import { ACTION_RULES, mayDo } from '../src/accounts/people/permissions.ts';
import { withGenerated } from './files/generated.ts';
import { readCommandLine } from '../src/main/process/command-line.ts';

/** The page with the table of what each role may do. */
export const PERMISSIONS_PAGE = new URL('../docs/security/who-may-do-what.md', import.meta.url);

const SECOND_PERSON = {
  never: 'no',
  above: 'above `PROPOSAL_ABOVE_PAISE`',
  last_admin: 'if no other active admin would remain',
  always: 'yes',
} as const satisfies Record<SecondPerson, string>;

const ROLES = ['support', 'finance', 'admin'] as const;

function rowOf(action: OperatorAction): string {
  const rule = ACTION_RULES[action];
  const roles = ROLES.filter((role) => mayDo(role, action)).join(', ');
  const { secondPerson, does } = rule;
  const isAsked = secondPerson === 'never' ? 'no' : SECOND_PERSON[secondPerson];
  const mail = 'mail' in rule ? rule.mail : '–';
  return `| ${roles} | ${does} | \`${action}\` | ${SECOND_PERSON[secondPerson]} | ${isAsked} | ${mail} |`;
}

/** The page with the table generated between its two markers. */
export function withPermissionsTable(page: string): string {
  const actions = Object.keys(ACTION_RULES) as OperatorAction[];
  const table = [
    '| Role | Action | Name | Second person | Asked again | Mail to |',
    '|---|---|---|---|---|---|',
    ...actions.map(rowOf),
  ].join('\n');
  return withGenerated(page, 'permissions', table);
}

if (import.meta.main) {
  readCommandLine({
    usage: 'npm run docs:permissions',
    does: 'Writes the table of docs/security/who-may-do-what.md from src/accounts/people/permissions.ts.',
  });
  writeFileSync(PERMISSIONS_PAGE, withPermissionsTable(readFileSync(PERMISSIONS_PAGE, 'utf8')));
}
