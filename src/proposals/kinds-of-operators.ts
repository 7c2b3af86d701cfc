import { z } from 'zod';
import type { OperatorState } from '../accounts/public.ts';
import {
  changeOperatorRole,
  createOperator,
  disableOperator,
  readOperatorState,
  resetTwoFactor,
} from '../accounts/public.ts';
import { DomainError } from '../domain/index.ts';
import { startMail } from '../mail/public.ts';
import type { Before, Change, Proposal, ProposalDeps } from './context.ts';
import type { CarryOutDeps } from './kind-rules.ts';
import { defineKind } from './kind-rules.ts';

const REASON = 1000;
const roleParameters = z.strictObject({ role: z.enum(['support', 'finance', 'admin']) });

/** Reads an operator and checks the state. @throws DomainError */
async function operatorBefore(
  { sql }: ProposalDeps,
  email: string,
  states: readonly OperatorState['state'][],
): Promise<Before> {
  const { state, role } = await readOperatorState(sql, email);
  if (states.includes(state)) return { state, role };
  throw new DomainError('INVALID_STATE', `${email} ${STATE_TEXTS[state]}`);
}

const STATE_TEXTS = {
  NONE: 'is no operator',
  MERCHANT: 'is the address of a merchant’s user',
  INVITED: 'has not accepted the invitation yet',
  WITHOUT_TWO_FACTOR: 'has no second factor',
  ACTIVE: 'is an active operator',
  DISABLED: 'is a disabled operator',
} as const satisfies Record<OperatorState['state'], string>;

const roleChange = ({ role: before }: Before, role: string): Change => ({
  what: 'Role',
  before: before === null || before === undefined ? null : String(before),
  after: role,
});
const stateChange = ({ state }: Before, after: string): Change => ({
  what: 'State',
  before: state === 'NONE' ? null : String(state),
  after,
});

async function invite(
  deps: CarryOutDeps,
  { subject: email }: Proposal,
  role: 'support' | 'finance' | 'admin',
) {
  const { mail } = await createOperator(deps, { email, role });
  if (mail) startMail(deps, mail);
}

/** Creates an operator, or invites an operator again who has not accepted the invitation. */
export const create = defineKind({
  title: 'Invite an operator',
  about: 'operator',
  parameters: roleParameters,
  maxReasonLength: REASON,
  readBefore: (deps, { subject }) => operatorBefore(deps, subject, ['NONE', 'INVITED']),
  changes: (before, { role }) => [stateChange(before, 'INVITED'), roleChange(before, role)],
  carryOut: (deps, proposal, parameters) => invite(deps, proposal, parameters.role),
});

export const reactivate = defineKind({
  title: 'Invite a disabled operator again',
  about: 'operator',
  parameters: roleParameters,
  maxReasonLength: REASON,
  readBefore: (deps, { subject }) => operatorBefore(deps, subject, ['DISABLED']),
  changes: (before, { role }) => [stateChange(before, 'INVITED'), roleChange(before, role)],
  carryOut: (deps, proposal, parameters) => invite(deps, proposal, parameters.role),
});

export const role = defineKind({
  title: "Change an operator's role",
  about: 'operator',
  parameters: roleParameters,
  maxReasonLength: REASON,
  readBefore: async (deps, { subject }, parameters) => {
    const before = await operatorBefore(deps, subject, ['INVITED', 'WITHOUT_TWO_FACTOR', 'ACTIVE']);
    if (before['role'] !== parameters.role) return before;
    throw new DomainError('INVALID_STATE', `${subject} has the role ${parameters.role} already`);
  },
  changes: (before, parameters) => [roleChange(before, parameters.role)],
  carryOut: (deps, { subject }, parameters) => changeOperatorRole(deps, subject, parameters.role),
});

/** Removes the second factor of an operator who has lost the device. */
export const resetSecondFactor = defineKind({
  title: "Reset an operator's second factor",
  about: 'operator',
  parameters: z.strictObject({}),
  maxReasonLength: REASON,
  readBefore: (deps, { subject }) => operatorBefore(deps, subject, ['ACTIVE']),
  changes: (before) => [stateChange(before, 'WITHOUT_TWO_FACTOR')],
  carryOut: async (deps, { subject }) => startMail(deps, await resetTwoFactor(deps, subject)),
});

/** Disables the last other active admin. */
export const disable = defineKind({
  title: 'Disable the last other admin',
  about: 'operator',
  parameters: z.strictObject({}),
  maxReasonLength: REASON,
  readBefore: (deps, { subject }) =>
    operatorBefore(deps, subject, ['INVITED', 'WITHOUT_TWO_FACTOR', 'ACTIVE']),
  changes: (before) => [stateChange(before, 'DISABLED')],
  carryOut: (deps, { subject }) => disableOperator(deps, subject),
});
