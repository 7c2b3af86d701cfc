import type { Environment } from '../domain/index.ts';
import { webhookSecretContext } from './deliver.ts';
import type { EndpointDeps } from './endpoints.ts';
import { SealError } from '../secret-box.ts';

const BATCH = 200;

interface SealedRow {
  merchantId: string;
  environment: Environment;
  webhookSecretSealed: string;
}

/** A secret that no configured key opens; it stays unchanged. */
export interface UnreadableSecret {
  merchantId: string;
  environment: Environment;
  reason: string;
}

/** The counts of webhook secrets; `current` ones were sealed with the newest key already. */
export interface ResealResult {
  resealed: number;
  current: number;
  unreadable: UnreadableSecret[];
}

/**
 * Seals every webhook secret again with the newest key, so that older keys can be removed.
 * Each row is updated separately, and only if it has not changed since it was read: an interrupted
 * run or a concurrent rotation loses nothing, and the next run does the rest.
 */
export async function resealSecrets(deps: EndpointDeps): Promise<ResealResult> {
  const result: ResealResult = { resealed: 0, current: 0, unreadable: [] };
  let last: Cursor | undefined;
  for (;;) {
    const rows = await readBatch(deps, last);
    for (const row of rows) await resealRow(deps, row, result);
    last = rows.at(-1);
    if (last === undefined) return result;
  }
}

type Cursor = Pick<SealedRow, 'merchantId' | 'environment'>;

async function readBatch({ sql }: EndpointDeps, after: Cursor | undefined): Promise<SealedRow[]> {
  const later = after
    ? sql`AND (merchant_id, environment) > (${after.merchantId}, ${after.environment})`
    : sql``;
  return sql<SealedRow[]>`
    SELECT merchant_id, environment, webhook_secret_sealed FROM merchant_environments
    WHERE webhook_secret_sealed IS NOT NULL ${later}
    ORDER BY merchant_id, environment LIMIT ${BATCH}`;
}

async function resealRow(deps: EndpointDeps, row: SealedRow, result: ResealResult): Promise<void> {
  const { merchantId, environment, webhookSecretSealed: sealed } = row;
  if (deps.secretBox.isCurrent(sealed)) {
    result.current += 1;
    return;
  }
  const context = webhookSecretContext(merchantId, environment);
  try {
    const resealed = deps.secretBox.seal(deps.secretBox.open(sealed, context), context);
    if (await replaceSealed(deps, row, resealed)) result.resealed += 1;
    else await resealRow(deps, await readAgain(deps, row), result);
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    result.unreadable.push({ merchantId, environment, reason: error.message });
  }
}

/** @returns false when the row has changed since it was read: the secret was rotated */
async function replaceSealed(
  { sql, actor }: EndpointDeps,
  row: SealedRow,
  resealed: string,
): Promise<boolean> {
  const { merchantId, environment, webhookSecretSealed: sealed } = row;
  const changed = await sql`
    WITH resealed AS (
      UPDATE merchant_environments SET webhook_secret_sealed = ${resealed}
      WHERE merchant_id = ${merchantId} AND environment = ${environment}
        AND webhook_secret_sealed = ${sealed}
      RETURNING merchant_id
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, details)
      SELECT ${actor.name}, ${actor.address}, 'webhook.reseal', merchant_id, ${sql.json({ environment })} FROM resealed
    )
    SELECT FROM resealed`;
  return changed.length > 0;
}

async function readAgain({ sql }: EndpointDeps, row: SealedRow): Promise<SealedRow> {
  const [again] = await sql<SealedRow[]>`
    SELECT merchant_id, environment, webhook_secret_sealed FROM merchant_environments
    WHERE merchant_id = ${row.merchantId} AND environment = ${row.environment}`;
  return again ?? row;
}
