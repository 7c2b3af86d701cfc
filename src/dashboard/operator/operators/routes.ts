import { h } from 'preact';
import { z } from 'zod';
import type {
  AccountDeps,
  Invitation,
  ListedOperator,
  OperatorRole,
  UserAdminDeps,
} from '../../../accounts/public.ts';
import {
  changeOperatorRole,
  createOperator,
  disableOperator,
  listOperators,
  resetTwoFactor,
} from '../../../accounts/public.ts';
import type { Actor } from '../../../db/actor.ts';
import { DomainError } from '../../../domain/index.ts';
import { errorOf, ValidationError } from '../../../http/responses/errors.ts';
import type { Route } from '../../../http/define-route.ts';
import { text } from '../../account/fields.ts';
import { orShowAgain } from '../../account/form-reply.ts';
import type { PageContext } from '../../context.ts';
import { definePage } from '../../page.ts';
import type { OperatorViewer } from '../../viewer.ts';
import type { View } from '../../view/layout.ts';
import { copyable, notice } from '../../view/parts.ts';
import { link } from '../../view/url.ts';
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

/** The pages on which an admin invites and changes operators. */
export function operatorsRoutes(context: PageContext, accounts: AccountDeps): Route[] {
  const adminBy = (actor: Actor): UserAdminDeps & AccountDeps => ({ ...accounts, actor });
  const show = definePage(context, {
    audience: 'operator',
    method: 'GET',
    path: '/operators',
    permission: 'operator.manage',
  }).handledBy(async () => ({ view: operatorsView(await listOperators(accounts)) }));
  const invite = definePage(context, {
    audience: 'operator',
    method: 'POST',
    path: '/operators/invite',
    permission: 'operator.manage',
    body: z.object({ email: text, role: text }),
  }).handledBy(async ({ body, actor }) =>
    orShowAgain(
      async () => {
        const operator = { email: body.email, role: roleOf(body.role) };
        return { view: invitationView(await createOperator(adminBy(actor), operator)) };
      },
      async (state) => operatorsView(await listOperators(accounts), state),
      body,
    ),
  );
  return [...show, ...invite, ...operatorPages(context, accounts, adminBy)];
}

function operatorPages(
  context: PageContext,
  accounts: AccountDeps,
  adminBy: (actor: Actor) => UserAdminDeps & AccountDeps,
): Route[] {
  const page = { audience: 'operator', permission: 'operator.manage', params } as const;
  const post = { ...page, method: 'POST' } as const;
  const show = definePage(context, {
    ...page,
    method: 'GET',
    path: '/operators/{id}',
    query: z.object({ done: z.string().optional() }),
  }).handledBy(async ({ params: { id }, query, viewer }) => ({
    view: operatorView(await requireOperator(accounts, id), viewer.user.userId, query.done),
  }));
  const changeRole = definePage(context, {
    ...post,
    path: '/operators/{id}/role',
    body: z.object({ role: text }),
  }).handledBy(async ({ params: { id }, body, actor, viewer }) => {
    const { email } = await requireOther(accounts, id, viewer);
    await changeOperatorRole(adminBy(actor), email, roleOf(body.role));
    return { seeOther: `${OPERATORS}/${id}?done=role` };
  });
  const disable = definePage(context, { ...post, path: '/operators/{id}/disable' }).handledBy(
    async ({ params: { id }, actor, viewer }) => {
      const { email } = await requireOther(accounts, id, viewer);
      await disableOperator(adminBy(actor), email);
      return { seeOther: `${OPERATORS}/${id}?done=disabled` };
    },
  );
  const reset = definePage(context, {
    ...post,
    path: '/operators/{id}/reset-two-factor',
  }).handledBy(async ({ params: { id }, actor, viewer }) => {
    const { email } = await requireOther(accounts, id, viewer);
    await resetTwoFactor(adminBy(actor), email);
    return { seeOther: `${OPERATORS}/${id}?done=reset` };
  });
  return [...show, ...changeRole, ...disable, ...reset];
}

async function requireOperator(accounts: AccountDeps, id: string): Promise<ListedOperator> {
  const operator = (await listOperators(accounts)).find(({ userId }) => userId === id);
  if (!operator) throw errorOf('NOT_FOUND');
  return operator;
}

/** Another operator than the viewer: so at least one admin remains. */
async function requireOther(
  accounts: AccountDeps,
  id: string,
  { user }: OperatorViewer,
): Promise<ListedOperator> {
  const operator = await requireOperator(accounts, id);
  if (operator.userId !== user.userId) return operator;
  throw new DomainError('BAD_REQUEST', 'Another admin has to change your own account');
}

/** The link is shown once; the database has only its hash. */
function invitationView({ email, link: url }: Invitation): View {
  const content = [
    notice('good', `${email} is invited.`, 'status'),
    h(
      'p',
      null,
      'Give this link to the person, and to no one else. It works once, for 24 hours, and sets the password. It is not shown again.',
    ),
    copyable('link', url),
    h('p', null, link(OPERATORS, 'To the operators')),
  ];
  return { title: 'The invitation', content };
}
