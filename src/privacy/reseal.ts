import type { Actor } from '../db/actor.ts';
import type { Sql } from '../db/client.ts';
import type { SecretBox } from '../secret-box.ts';
import { SealError } from '../secret-box.ts';
import { keyIdOf } from './key-usage.ts';
import type { KeySetting, SealedColumn } from './sealed-columns.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';

export interface ResealDeps {
  sql: Sql;
  actor: Actor;
  boxes: Readonly<Record<KeySetting, SecretBox>>;
}

/** A value that no configured key opens. It stays as it is. */
export interface UnreadableValue {
  what: string;
  row: string;
  reason: string;
}

export interface Resealing {
  resealed: number;
  unreadable: UnreadableValue[];
}

/** The values of the key columns of a row. */
type Key = Record<string, string>;

/**
 * Seals every value that an older key has sealed again, with the newest key of its setting. Each row is changed
 * separately, and only if it is still as it was read, so an interrupted run or a concurrent change loses nothing,
 * and the next run continues. A run that changes anything writes an audit row.
 */
export async function resealAll(deps: ResealDeps): Promise<Resealing> {
  const result: Resealing = { resealed: 0, unreadable: [] };
  try {
    for (const column of SEALED_COLUMNS) {
      for (const key of await findOlder(deps, column)) await resealRow(deps, column, key, result);
    }
  } finally {
    if (result.resealed > 0) await writeAudit(deps, result.resealed);
  }
  return result;
}

/** Finds the rows that an older key has sealed. */
function findOlder({ sql, boxes }: ResealDeps, column: SealedColumn): Promise<Key[]> {
  const { table, column: name, key, setting } = column;
  const [newest = ''] = boxes[setting].keyIds;
  return sql<Key[]>`
    SELECT ${sql([...key])} FROM ${sql(table)}
    WHERE ${sql(name)} IS NOT NULL AND ${keyIdOf(sql, column)} <> ${newest}
    ORDER BY ${sql([...key])}`;
}

async function resealRow(
  { sql, boxes }: ResealDeps,
  { name: what, table, column, setting, contextOf }: SealedColumn,
  key: Key,
  result: Resealing,
): Promise<void> {
  const isRow = Object.entries(key).reduce(
    (conditions, [name, value]) => sql`${conditions} AND ${sql(name)} = ${value}`,
    sql`${sql(column)} IS NOT NULL`,
  );
  const [row] = await sql<{ sealed: string | Buffer }[]>`
    SELECT ${sql(column)} AS sealed FROM ${sql(table)} WHERE ${isRow}`;
  // It was deleted in the meantime, such as a mail that was sent.
  if (!row) return;
  try {
    const resealed = resealedOf(boxes[setting], row.sealed, contextOf(key));
    const changed = await sql`
      UPDATE ${sql(table)} SET ${sql({ [column]: resealed })}
      WHERE ${isRow} AND ${sql(column)} = ${row.sealed} RETURNING 1`;
    result.resealed += changed.length;
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    const id = Object.values(key).join(' ');
    result.unreadable.push({ what, row: id, reason: error.message });
  }
}

function resealedOf(box: SecretBox, sealed: string | Buffer, context: readonly string[]) {
  return typeof sealed === 'string'
    ? box.seal(box.open(sealed, context), context)
    : box.sealBytes(box.openBytes(sealed, context), context);
}

async function writeAudit({ sql, actor }: ResealDeps, resealed: number): Promise<void> {
  await sql`
    INSERT INTO audit_log (actor, address, action, details)
    VALUES (${actor.name}, ${actor.address}, 'keys.reseal', ${sql.json({ resealed })})`;
}
