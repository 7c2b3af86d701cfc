import { expect } from 'vitest';
import type { Visit } from '../dashboard/browsing.ts';
import type { browserOf } from '../dashboard/browsing.ts';
import type { Proposer } from '../../src/proposals/context.ts';
import type { OperatorRole } from '../../src/accounts/public.ts';
import { operatorUser } from './users.ts';
import type { TestService } from './service.ts';

type Browser = Pick<ReturnType<typeof browserOf>, 'post'>;

/** The path of the proposal that a form has made. */
export function proposalOf({ location, body }: Visit): string {
  const [path = ''] =
    /^\/operator\/proposals\/prp_\w{26}(?=\?done=open$)/.exec(location ?? '') ?? [];
  expect(path, body).not.toBe('');
  return path;
}

/** Approves the proposal that a form has made, as another operator. @returns the answer to the approval */
export const approvedBy = async (approver: Browser, proposed: Visit): Promise<Visit> =>
  approver.post(`${proposalOf(proposed)}/approve`);

/** The same; it must be carried out at once. */
export async function carriedOutBy(approver: Browser, proposed: Visit): Promise<void> {
  const { location, body } = await approvedBy(approver, proposed);
  expect(location, body).toBe(`${proposalOf(proposed)}?done=approved`);
}

/** A new operator as the functions of the proposals get one. */
export async function aProposer(
  { sql }: Pick<TestService, 'sql'>,
  role: OperatorRole,
): Promise<Proposer> {
  const user = await operatorUser(sql, role);
  return { user, role, actor: { name: `operator:${user.email}`, address: '127.0.0.1' } };
}
