import type { Environment } from '../domain/index.ts';
import { webhookSecretPlace } from './deliver.ts';
import type { EndpointDeps } from './endpoints.ts';
import { SealError } from './secret-box.ts';

const BATCH = 200;

interface SealedRow {
  merchantId: string;
  environment: Environment;
  webhookSecretSealed: string;
}

/** A secret that none of the given keys opens: it stays as it is. */
export interface UnreadableSecret {
  merchantId: string;
  environment: Environment;
  reason: string;
}

/** What became of all webhook secrets; those of `current` were under the newest key already. */
export interface ResealResult {
  resealed: number;
  current: number;
  unreadable: UnreadableSecret[];
}

/**
 * Seals every webhook secret anew under the newest key, so that older keys can be thrown away.
 * Each row changes by itself, and only if it is still what was opened: a run that is cut off, or
 * meets a rotation, loses nothing, and the next run goes on where this one ended.
 */
export async function resealSecrets(deps: EndpointDeps): Promise<ResealResult> {
  const result: ResealResult = { resealed: 0, current: 0, unreadable: [] };
  let last: Place | undefined;
  for (;;) {
    const rows = await readBatch(deps, last);
    for (const row of rows) await resealRow(deps, row, result);
    last = rows.at(-1);
    if (last === undefined) return result;
  }
}

type Place = Pick<SealedRow, 'merchantId' | 'environment'>;

async function readBatch({ sql }: EndpointDeps, after: Place | undefined): Promise<SealedRow[]> {
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
  const place = webhookSecretPlace(merchantId, environment);
  try {
    const resealed = deps.secretBox.seal(deps.secretBox.open(sealed, place), place);
    if (await replaceSealed(deps, row, resealed)) result.resealed += 1;
    else await resealRow(deps, await readAgain(deps, row), result);
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    result.unreadable.push({ merchantId, environment, reason: error.message });
  }
}

/** @returns false when it is not what was opened any more: a rotation came first */
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
      INSERT INTO audit_log (actor, action, merchant_id, details)
      SELECT ${actor}, 'webhook.reseal', merchant_id, ${sql.json({ environment })} FROM resealed
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
