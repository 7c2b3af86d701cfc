import { expect, test } from 'vitest';
import { AUDIT_ACTIONS } from '../../src/dashboard/operator/audit-actions.ts';
import { ACTION_RULES } from '../../src/accounts/public.ts';
import { filesBelow, read } from '../repository/files.ts';

/** What writes a line of the audit list, or names its action. */
const WRITER = /audit_log|audit_proposal|auditing\(|writeLook|applyEdit/;
/** In the form of an action, and none: a file, a report inside the process, the kind of a proposal. */
const OTHERS = ['audit.csv', 'alert-raised', 'operator.reset'];
const ACTION = /'([a-z][a-zA-Z_]*(?:[.-][a-zA-Z_]+)+)'/g;

const written = filesBelow(['src', 'activities'])
  .filter((file) => /\.(ts|sql)$/.test(file) && !file.endsWith('/audit-actions.ts'))
  .map((file) => read(file))
  .filter((content) => WRITER.test(content))
  .flatMap((content) => [...content.matchAll(ACTION)].map(([, action = '']) => action))
  .filter((action) => !OTHERS.includes(action));

test('every action that the code writes to the audit list has a sentence', () => {
  expect(written).toEqual(
    expect.arrayContaining(['merchant.approve', 'proposal.open', 'two_factor.enable']),
  );
  const named = Object.keys(AUDIT_ACTIONS);
  expect([...new Set(written)].filter((action) => !named.includes(action))).toEqual([]);
});

test('no sentence is of an action that nothing writes, and each begins with a verb', () => {
  const known = [...written, ...Object.keys(ACTION_RULES)];
  const dotted = Object.keys(AUDIT_ACTIONS).filter((action) => /^[a-z]/.test(action));
  expect(dotted.filter((action) => !known.includes(action))).toEqual([]);
  for (const sentence of Object.values(AUDIT_ACTIONS)) expect(sentence).toMatch(/^[A-Z][a-z]+/);
});
