import type { Fragment } from 'postgres';
import type { Sql } from '../db/client.ts';
import type { KeySetting, SealedColumn } from './sealed-columns.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';

/** The ids of the configured keys of each setting, the newest first. */
export type ConfiguredKeys = Readonly<Record<KeySetting | 'API_SECRET_PEPPER', readonly string[]>>;

/** The number of values that need one key. */
export interface KeyUsage {
  setting: keyof ConfiguredKeys;
  keyId: string;
  /** `missing`: rows need it, but the setting does not have it. */
  role: 'newest' | 'older' | 'missing';
  rows: number;
  /** `rows`, split by kind, such as `webhook secrets`. `admin keys list` prints this name. */
  of: Record<string, number>;
}

/** An API key whose secret has not been used since the pepper was replaced. */
export interface UnusedApiKey {
  apiKey: string;
  merchantId: string;
  lastUsedAt: Date | null;
}

export interface KeyReport {
  keys: KeyUsage[];
  /** The API keys that still need an older pepper, those that were used longest ago first; at most 100. */
  unusedApiKeys: UnusedApiKey[];
}

const MOST_UNUSED = 100;

/** SQL: the id of the key in a sealed value, which is the part before the point. */
export function keyIdOf(sql: Sql, { column, isBinary }: SealedColumn): Fragment {
  return isBinary
    ? sql`split_part(encode(substring(${sql(column)} FROM 1 FOR 200), 'escape'), '.', 1)`
    : sql`split_part(${sql(column)}, '.', 1)`;
}

/** Counts the values that need each key, including keys that are missing from the settings. */
export async function reportKeys(sql: Sql, configured: ConfiguredKeys): Promise<KeyReport> {
  const counted = await countRows(sql);
  const keys: KeyUsage[] = [];
  for (const setting of Object.keys(configured) as (keyof ConfiguredKeys)[]) {
    const known = configured[setting];
    const used = counted.filter((row) => row.setting === setting);
    const ids = new Set([...known, ...used.map(({ keyId }) => keyId)]);
    for (const keyId of ids) {
      const mine = used.filter((row) => row.keyId === keyId);
      keys.push({
        setting,
        keyId,
        role: roleOf(known, keyId),
        rows: mine.reduce((sum, { rows }) => sum + rows, 0),
        of: Object.fromEntries(mine.map(({ name, rows }) => [name, rows])),
      });
    }
  }
  const [newestPepper = ''] = configured.API_SECRET_PEPPER;
  const unusedApiKeys = await sql<UnusedApiKey[]>`
    SELECT api_key, merchant_id, last_used_at FROM api_keys
    WHERE pepper_id IS DISTINCT FROM ${newestPepper}
    ORDER BY last_used_at NULLS FIRST, api_key LIMIT ${MOST_UNUSED}`;
  return { keys, unusedApiKeys };
}

interface Counted {
  setting: keyof ConfiguredKeys;
  name: string;
  keyId: string;
  rows: number;
}

async function countRows(sql: Sql): Promise<Counted[]> {
  const counted: Counted[] = [];
  for (const column of SEALED_COLUMNS) {
    const { name, setting, table } = column;
    const rows = await sql<{ keyId: string; rows: number }[]>`
      SELECT ${keyIdOf(sql, column)} AS key_id, count(*) AS rows FROM ${sql(table)}
      WHERE ${sql(column.column)} IS NOT NULL GROUP BY 1 ORDER BY 1`;
    counted.push(...rows.map((row) => ({ ...row, name, setting })));
  }
  const peppered = await sql<{ keyId: string; rows: number }[]>`
    SELECT coalesce(pepper_id, 'unknown') AS key_id, count(*) AS rows FROM api_keys
    GROUP BY 1 ORDER BY 1`;
  const setting = 'API_SECRET_PEPPER';
  return [
    ...counted,
    ...peppered.map((row) => ({ ...row, name: 'API secrets', setting }) as const),
  ];
}

function roleOf(known: readonly string[], keyId: string): KeyUsage['role'] {
  if (known[0] === keyId) return 'newest';
  return known.includes(keyId) ? 'older' : 'missing';
}
