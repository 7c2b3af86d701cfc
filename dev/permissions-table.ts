import type { OperatorAction, SecondPerson } from '../src/accounts/people/permissions.ts';
import { ACTION_RULES, mayDo } from '../src/accounts/people/permissions.ts';
import type { MerchantActPath } from '../src/dashboard/merchant-acts.ts';
import { MERCHANT_ACTS } from '../src/dashboard/merchant-acts.ts';
import { withGenerated } from './files/generated.ts';

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
  const mail = 'mail' in rule ? rule.mail : '–';
  return `| ${roles} | ${does} | \`${action}\` | ${SECOND_PERSON[secondPerson]} | ${mail} |`;
}

type MerchantAct = (typeof MERCHANT_ACTS)[MerchantActPath];

/** When a merchant's user is asked again, or a mail reports the act. */
const WHEN = {
  never: 'no',
  always: 'yes',
  production: 'in production',
  large: 'above `PROPOSAL_ABOVE_PAISE`',
  in_form: 'in its form',
  new_device: 'with a new browser',
} as const satisfies Record<MerchantAct['asksAgain' | 'mail'], string>;

function rowOfAct(path: MerchantActPath): string {
  const { does, asksAgain, mail } = MERCHANT_ACTS[path];
  return `| ${does} | \`${path}\` | ${WHEN[asksAgain]} | ${WHEN[mail]} |`;
}

/** The page of what each role and a merchant's user may do, with each table generated between its two markers. */
export function withPermissionsTable(page: string): string {
  const actions = Object.keys(ACTION_RULES) as OperatorAction[];
  const acts = Object.keys(MERCHANT_ACTS) as MerchantActPath[];
  const ofOperators = [
    '| Role | Action | Name | Second person | Mail to |',
    '|---|---|---|---|---|',
    ...actions.map(rowOf),
  ].join('\n');
  const table = [
    '| Act | Form | Asked again | Mail |',
    '|---|---|---|---|',
    ...acts.map(rowOfAct),
  ].join('\n');
  return withGenerated(withGenerated(page, 'permissions', ofOperators), 'acts', table);
}
