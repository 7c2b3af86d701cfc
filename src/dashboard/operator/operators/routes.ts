import { z } from 'zod';
import type { AccountDeps, ListedOperator, OperatorRole } from '../../../accounts/public.ts';
import { listOperators, parseAddress, readOperatorState } from '../../../accounts/public.ts';
import { DomainError } from '../../../domain/index.ts';
import type { Route } from '../../../http/define-route.ts';
import { errorOf, ValidationError } from '../../../http/responses/errors.ts';
import type { ProposalDeps } from '../../../proposals/public.ts';
import { disableOrPropose, isLastOtherAdmin } from '../../../proposals/public.ts';
import { text } from '../../account/parts.ts';
import type { PageContext } from '../../context.ts';
import { definePage, pagesOf } from '../../page.ts';
import type { OperatorViewer } from '../../viewer.ts';
import { proposalPath, proposeAndShow, proposerOf } from '../proposal-tables.ts';
import { operatorsView, operatorView } from './views.ts';

const OPERATORS = '/operator/operators';

const roles = z.enum(['support', 'finance', 'admin']) satisfies z.ZodType<OperatorRole>;

/** @throws ValidationError */
function roleOf(typed: string): OperatorRole {
  const { data, success } = roles.safeParse(typed);
  if (success) return data;
  throw new ValidationError({ role: 'Choose a role' });
}

const params = z.object({ id: z.string() });

interface OperatorsDeps {
  accounts: AccountDeps;
  proposals: ProposalDeps;
}

const page = pagesOf<OperatorsDeps, 'operator'>('operator');

const ACT = { params, formPath: '/operators/{id}' } as const;

export const operatorAccountPages = [
  page('GET /operators', {
    permission: 'operator.manage',
  }).handledBy(async (_, { accounts }) => ({ view: operatorsView(await listOperators(accounts)) })),
  page('POST /operators/invite', {
    formPath: '/operators',
    permission: 'operator.create',
    asksAgain: true,
    body: z.object({ email: text, role: text, reason: text }),
  }).handledBy(async ({ body, viewer, actor }, { accounts, proposals }) => {
    const email = parseAddress(body.email);
    const { state } = await readOperatorState(accounts.sql, email);
    return proposeAndShow(proposals, proposerOf({ viewer, actor }), {
      kind: state === 'DISABLED' ? 'operator.reactivate' : 'operator.create',
      subject: email,
      parameters: { role: roleOf(body.role) },
      reason: body.reason,
    });
  }),
  page('GET /operators/{id}', {
    params,
    permission: 'operator.manage',
    query: z.object({ done: z.string().optional() }),
  }).handledBy(async ({ params: { id }, query, viewer }, { accounts }) => {
    const operator = await requireOperator(accounts, id);
    const isLast = await isLastOtherAdmin(accounts.sql, operator.email, viewer.user.email);
    const shown = { viewerId: viewer.user.userId, done: query.done, isLast };
    return { view: operatorView(operator, shown) };
  }),
  disablePage,
  page('POST /operators/{id}/role', {
    ...ACT,
    permission: 'operator.role',
    asksAgain: true,
    body: z.object({ role: text, roleReason: text }),
  }).handledBy(async ({ params: { id }, body, actor, viewer }, { accounts, proposals }) => {
    const { email } = await requireOther(accounts, id, viewer);
    return proposeAndShow(proposals, proposerOf({ viewer, actor }), {
      kind: 'operator.role',
      subject: email,
      parameters: { role: roleOf(body.role) },
      reason: body.roleReason,
    });
  }),
  page('POST /operators/{id}/reset-two-factor', {
    ...ACT,
    permission: 'operator.reset',
    asksAgain: true,
    body: z.object({ resetReason: text }),
  }).handledBy(
    async (
      { params: { id }, body: { resetReason: reason }, actor, viewer },
      { accounts, proposals },
    ) => {
      const { email } = await requireOther(accounts, id, viewer);
      return proposeAndShow(proposals, proposerOf({ viewer, actor }), {
        kind: 'operator.reset',
        subject: email,
        parameters: {},
        reason,
      });
    },
  ),
];

/** Only the proposal to disable the last other admin asks again: a stolen account is stopped at once. */
function disablePage(context: PageContext, { accounts, proposals }: OperatorsDeps): Route[] {
  return definePage(context, 'operator', 'POST /operators/{id}/disable', {
    ...ACT,
    permission: 'operator.disable',
    body: z.object({ disableReason: text }),
    asksAgain: async ({ params: { id }, viewer }) => {
      const { email } = await requireOther(accounts, id, viewer);
      return isLastOtherAdmin(accounts.sql, email, viewer.user.email);
    },
  }).handledBy(async ({ params: { id }, body: { disableReason: reason }, actor, viewer }) => {
    const { email, userId } = await requireOther(accounts, id, viewer);
    const proposer = proposerOf({ viewer, actor });
    const proposalId = await disableOrPropose(proposals, proposer, { userId, email, reason });
    if (proposalId === null) return { seeOther: `${OPERATORS}/${id}?done=disabled` };
    return { seeOther: `${proposalPath(proposalId)}?done=open` };
  });
}

async function requireOperator(accounts: AccountDeps, id: string): Promise<ListedOperator> {
  const operator = (await listOperators(accounts)).find(({ userId }) => userId === id);
  if (!operator) throw errorOf('NOT_FOUND');
  return operator;
}

/** An operator cannot change the own account, so at least one admin remains. */
async function requireOther(
  accounts: AccountDeps,
  id: string,
  { user }: OperatorViewer,
): Promise<ListedOperator> {
  const operator = await requireOperator(accounts, id);
  if (operator.userId !== user.userId) return operator;
  throw new DomainError('BAD_REQUEST', 'Another admin has to change your own account');
}
