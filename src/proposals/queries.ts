import { ulid } from 'ulid';
import type { OperatorRole } from '../accounts/public.ts';
import type { Actor } from '../db/actor.ts';
import type { Alongside, Sql } from '../db/client.ts';
import { jsonRow } from '../db/client.ts';
import { DomainError } from '../domain/index.ts';
import type { Proposal, ProposalKind } from './context.ts';

const VALID_MS = 24 * 3_600_000;

/** The SQLSTATE with which functions of the database refuse. The message is a sentence. */
export const REFUSED = 'PR001';
/** The index that allows one open proposal of a kind for each subject. */
const ONE_OPEN = 'proposals_one_open';

export type NewProposal = Pick<Proposal, 'kind' | 'parameters' | 'before' | 'reason'> &
  Partial<Pick<Proposal, 'orderNumber' | 'merchantId' | 'operatorEmail'>> & { proposedBy: string };

/** The operator who opens or decides a proposal, and the roles that may. */
export interface Decider {
  userId: string;
  roles: readonly OperatorRole[];
  actor: Actor;
}

/** Runs a function of the database. @throws DomainError `INVALID_STATE` with its sentence if it refuses */
export async function orRefusal<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    const { code, message, constraint_name: constraint } = Object(error) as Record<string, unknown>;
    if (constraint === ONE_OPEN) {
      const text = 'The same is proposed already: approve, reject or withdraw that proposal';
      throw new DomainError('INVALID_STATE', text, { cause: error });
    }
    if (code !== REFUSED) throw error;
    throw new DomainError('INVALID_STATE', String(message), { cause: error });
  }
}

/** Inserts a proposal and returns its id. @throws DomainError `INVALID_STATE` */
export async function insertProposal(
  sql: Sql,
  proposal: NewProposal,
  { roles, actor }: Decider,
): Promise<string> {
  const proposalId = `prp_${ulid()}`;
  const { parameters, before, ...columns } = proposal;
  await orRefusal(
    () => sql`
    SELECT open_proposal(${jsonRow(sql, { proposalId, ...columns })}
        || jsonb_build_object('parameters', ${sql.json(parameters)}::jsonb, 'before', ${sql.json(before)}::jsonb),
      ${VALID_MS}, ${[...roles]}, ${jsonRow(sql, actor)})`,
  );
  return proposalId;
}

/** Marks a proposal as approved, once. @throws DomainError `INVALID_STATE` */
export async function writeApproval(
  sql: Sql,
  proposalId: string,
  { userId, roles, actor }: Decider,
): Promise<void> {
  await orRefusal(
    () => sql`
    SELECT approve_proposal(${proposalId}, ${userId}, ${[...roles]}, ${jsonRow(sql, actor)})`,
  );
}

/** Ends an open proposal without the act. @throws DomainError `INVALID_STATE` */
export async function writeEnd(
  sql: Sql,
  proposalId: string,
  status: 'rejected' | 'withdrawn',
  { userId, roles, actor }: Decider,
): Promise<void> {
  await orRefusal(
    () => sql`
    SELECT close_proposal(${proposalId}, ${userId}, ${status}, ${[...roles]}, ${jsonRow(sql, actor)})`,
  );
}

/** Records in the statement of the act that the proposal is carried out, so that the act is done once. */
export const finishing =
  (proposalId: string): Alongside =>
  (sql, changed) =>
    sql`SELECT finish_proposal(${proposalId}, 'done') FROM ${sql(changed)}`;

/** Records the end of an approved proposal, unless it is recorded. @param outcome `done`, or why it was not done */
export async function finishProposal(sql: Sql, proposalId: string, outcome: string): Promise<void> {
  await sql`
    SELECT finish_proposal(proposal_id, ${outcome}) FROM proposals
    WHERE proposal_id = ${proposalId} AND status = 'approved' AND outcome IS NULL`;
}

const rows = (sql: Sql) => sql`
  SELECT p.proposal_id, p.kind, p.order_number, p.merchant_id, p.operator_email, p.subject, p.parameters,
    p.before, p.reason, p.proposed_by, proposer.email AS proposed_by_email, p.proposed_at, p.expires_at,
    CASE WHEN p.status = 'open' AND p.expires_at <= service_now() THEN 'expired' ELSE p.status END AS status,
    p.decided_by, decider.email AS decided_by_email, p.decided_at, p.carried_out_at, p.outcome
  FROM proposals p JOIN shared.users proposer ON proposer.user_id = p.proposed_by
  LEFT JOIN shared.users decider ON decider.user_id = p.decided_by`;

/** @throws DomainError `NOT_FOUND` */
export async function requireProposal(sql: Sql, proposalId: string): Promise<Proposal> {
  const [proposal] = await sql<Proposal[]>`${rows(sql)} WHERE p.proposal_id = ${proposalId}`;
  if (!proposal) throw new DomainError('NOT_FOUND', 'There is no such proposal');
  return proposal;
}

/** Lists the open proposals of these kinds, the one that expires first at the beginning. */
export async function listOpenProposals(
  sql: Sql,
  kinds: readonly ProposalKind[],
  limit: number,
): Promise<Proposal[]> {
  return sql<Proposal[]>`
    ${rows(sql)} WHERE p.status = 'open' AND p.expires_at > service_now() AND p.kind = ANY (${[...kinds]})
    ORDER BY p.expires_at, p.proposal_id LIMIT ${limit}`;
}

/** Lists the open proposals about a merchant or one of its orders, an order, or an operator's address. */
export async function listOpenAbout(sql: Sql, about: string): Promise<Proposal[]> {
  return sql<Proposal[]>`
    ${rows(sql)} WHERE p.status = 'open' AND p.expires_at > service_now()
      AND (p.subject = ${about} OR p.merchant_id = ${about})
    ORDER BY p.expires_at, p.proposal_id LIMIT 20`;
}

/**
 * Lists the proposals that are decided or expired, the latest first.
 *
 * @param before the last id of the previous page
 */
export async function listPastProposals(
  sql: Sql,
  before: string | undefined,
  limit: number,
): Promise<{ proposals: Proposal[]; hasMore: boolean }> {
  const found = await sql<Proposal[]>`
    ${rows(sql)} WHERE (p.status <> 'open' OR p.expires_at <= service_now())
      ${before === undefined ? sql`` : sql`AND p.proposal_id < ${before}`}
    ORDER BY p.proposal_id DESC LIMIT ${limit + 1}`;
  return { proposals: found.slice(0, limit), hasMore: found.length > limit };
}

/**
 * True if a later proposal of the same kind and subject, or about the account of the same merchant, was approved and
 * not refused.
 */
export async function isSuperseded(sql: Sql, proposalId: string): Promise<boolean> {
  const later = await sql`
    SELECT FROM proposals p JOIN proposals later ON later.subject = p.subject AND later.decided_at > p.decided_at
    WHERE p.proposal_id = ${proposalId} AND later.status = 'approved'
      AND coalesce(later.outcome, 'done') = 'done'
      AND (later.kind = p.kind OR (later.parameters->>'linkedAccountId' IS NOT NULL
        AND p.parameters->>'linkedAccountId' IS NOT NULL))`;
  return later.length > 0;
}

/** Finds the approved proposals that no process has carried out in time, the oldest first. */
export async function findUnfinished(sql: Sql, olderThanMs: number): Promise<Proposal[]> {
  return sql<Proposal[]>`
    ${rows(sql)} WHERE p.status = 'approved' AND p.outcome IS NULL
      AND p.decided_at < service_now() - ${olderThanMs} * interval '1 millisecond'
    ORDER BY p.decided_at LIMIT 100`;
}

/** Finds the open proposals about orders whose deadline was not warned of. */
export async function findUnwarned(sql: Sql): Promise<Proposal[]> {
  return sql<Proposal[]>`
    ${rows(sql)} WHERE p.status = 'open' AND p.expires_at > service_now()
      AND p.order_number IS NOT NULL AND p.warned_at IS NULL
    ORDER BY p.proposal_id LIMIT 500`;
}

/** Finds the proposals with an open alert of a kind that are no longer open. */
export async function findWarnedAndEnded(sql: Sql): Promise<string[]> {
  const found = await sql<{ proposalId: string }[]>`
    SELECT p.proposal_id FROM shared.alerts a JOIN proposals p ON p.proposal_id = a.subject
    WHERE a.kind = 'proposal_near_deadline' AND a.cleared_at IS NULL
      AND (p.status <> 'open' OR p.expires_at <= service_now())`;
  return found.map(({ proposalId }) => proposalId);
}

export async function markWarned(sql: Sql, proposalId: string): Promise<void> {
  await sql`SELECT mark_proposal_warned(${proposalId})`;
}

/** The database's clock, which decides deadlines. */
export async function readClock(sql: Sql): Promise<Date> {
  const [row] = await sql<[{ now: Date }]>`SELECT service_now() AS now`;
  return row.now;
}

/** True if two admins have ever confirmed a second factor. From then on, every operator is created by two persons. */
export async function hasTwoAdmins(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ isSo: boolean }]>`SELECT has_two_admins() AS is_so`;
  return row.isSo;
}

/** Part of the statement that creates an operator: refuses it once two admins have confirmed a second factor. */
export const onlyFirstOperators: Alongside = (sql, changed) =>
  sql`SELECT assert_first_operators() FROM ${sql(changed)}`;
