import { expect, test } from 'vitest';
import { ACTION_RULES } from '../../src/accounts/people/permissions.ts';
import type { OperatorAction } from '../../src/accounts/public.ts';
import { mayDo } from '../../src/accounts/public.ts';

const actions = Object.keys(ACTION_RULES) as OperatorAction[];
const allowed = (role: Parameters<typeof mayDo>[0]) =>
  actions.filter((action) => mayDo(role, action)).toSorted();

const SUPPORT = [
  'alert.clear',
  'delivery.retry',
  'dispute.raise',
  'order.recover',
  'order.retry',
  'read',
];
const FINANCE = [
  ...SUPPORT,
  'accountNumber.read',
  'dispute.decide',
  'merchant.linkedAccount',
  'order.refund',
  'order.settle',
];

test('support may repair and raise disputes, but moves no money', () => {
  expect(allowed('support')).toEqual(SUPPORT.toSorted());
});

test('finance may also move money, but neither review merchants nor manage operators', () => {
  expect(allowed('finance')).toEqual(FINANCE.toSorted());
});

test('an admin may do everything', () => {
  expect(allowed('admin')).toEqual(actions.toSorted());
});

test("a merchant's user may do nothing of an operator", () => {
  expect(allowed(null)).toEqual([]);
});
