import type postgres from 'postgres';
import type { AlertDeps } from '../alerts/alerts.ts';
import { clearAlert, raiseAlert } from '../alerts/alerts.ts';
import type { Sql } from '../db/client.ts';
import { databaseTime } from '../db/client.ts';
import type { LedgerFault } from './queries.ts';
import type { Verification } from './verify.ts';
import { verifyLedger } from './verify.ts';

const KEPT_DAYS = 30;

/** The subject of every `ledger_fault`, because a proof covers the whole ledger. */
const ALERT_SUBJECT = 'ledger';

export interface ProofSummary {
  proofId: number;
  at: Date;
  durationMs: number;
  ok: boolean;
  faultCount: number;
  figures: ProofFigures;
}

/** The figures of a verification that a proof stores. */
export type ProofFigures = Pick<
  Verification,
  'accounts' | 'sums' | 'lineCount' | 'orderCount' | 'captureCount' | 'capturesUnderWay'
>;

/** A recorded proof with the first 100 of its faults. */
export interface LedgerProof extends ProofSummary {
  faults: LedgerFault[];
}

/**
 * Verifies the whole ledger and records the result. Raises the alert `ledger_fault` if there is a fault,
 * and clears it if there is none. Proofs older than 30 days are deleted.
 */
export async function proveLedger(deps: AlertDeps): Promise<Verification> {
  const before = await databaseTime(deps.sql);
  const startedAtMs = performance.now();
  const verification = await verifyLedger(deps.sql);
  await writeProof(deps.sql, verification, Math.round(performance.now() - startedAtMs));
  const { ok, faultCount, faults } = verification;
  if (ok) {
    await clearAlert(deps.sql, 'ledger_fault', ALERT_SUBJECT, 'no fault was found', { before });
  } else {
    const [first] = faults;
    await raiseAlert(deps, {
      kind: 'ledger_fault',
      subject: ALERT_SUBJECT,
      message: `The ledger is not sound: ${faultCount} ${faultCount === 1 ? 'fault' : 'faults'}`,
      fields: {
        faultCount,
        first: first ? `${first.rule} ${first.subject}: ${first.fault}` : null,
      },
    });
  }
  return verification;
}

async function writeProof(sql: Sql, result: Verification, durationMs: number): Promise<void> {
  const { accounts, sums, lineCount, orderCount, captureCount, capturesUnderWay } = result;
  const figures = { accounts, sums, lineCount, orderCount, captureCount, capturesUnderWay };
  const faults = result.faults.map(({ rule, subject, fault }) => ({ rule, subject, fault }));
  await sql`
    WITH expired AS (
      DELETE FROM ledger_proofs WHERE at < clock_timestamp() - ${KEPT_DAYS} * interval '1 day'
    )
    INSERT INTO ledger_proofs (duration_ms, ok, figures, fault_count, faults)
    VALUES (${durationMs}, ${result.ok}, ${sql.json(figures as unknown as postgres.JSONValue)},
      ${result.faultCount}, ${sql.json(faults)})`;
}

export async function findLatestProof(sql: Sql): Promise<LedgerProof | undefined> {
  const [proof] = await sql<LedgerProof[]>`
    SELECT proof_id, at, duration_ms, ok, fault_count, figures, faults
    FROM ledger_proofs ORDER BY proof_id DESC LIMIT 1`;
  return proof;
}

/**
 * Lists proofs, the latest first.
 *
 * @param olderThan the id of the last proof of the previous page
 * @returns at most `limit`, and whether there are more
 */
export async function listProofs(
  sql: Sql,
  { olderThan }: { olderThan?: number | undefined },
  limit: number,
): Promise<{ proofs: ProofSummary[]; hasMore: boolean }> {
  const rows = await sql<ProofSummary[]>`
    SELECT proof_id, at, duration_ms, ok, fault_count, figures FROM ledger_proofs
    ${olderThan === undefined ? sql`` : sql`WHERE proof_id < ${olderThan}`}
    ORDER BY proof_id DESC LIMIT ${limit + 1}`;
  return { proofs: rows.slice(0, limit), hasMore: rows.length > limit };
}
