import { gzipSync } from 'node:zlib';
import { onDatabase, withConnection } from '../postgres/databases.ts';
import { createCanaries, type Canaries } from './canary.ts';
import { inMemory, tablesOf } from './places.ts';
import { searchPlaces } from './report.ts';

const TABLE = 'canary_control';

/** The forms in which a value may be stored or logged. */
function formsOf(value: string): Record<string, Buffer> {
  return {
    plain: Buffer.from(value),
    'JSON-escaped': Buffer.from(
      [...`"${value}"`].map((letter) => `\\u00${letter.codePointAt(0)?.toString(16)}`).join(''),
    ),
    'URL-encoded': Buffer.from(
      [...value].map((letter) => `%${letter.codePointAt(0)?.toString(16)}`).join(''),
    ),
    base64: Buffer.from(`{"data":"${Buffer.from(`{"a":"${value}"}`).toString('base64')}"}`),
    compressed: gzipSync(JSON.stringify({ text: value })),
  };
}

/**
 * Plants values in a database of Temporal and in the copy of a log, in every form.
 *
 * @returns what the search did not find
 */
export async function missedPlants(adminUrl: string, log: string): Promise<string[]> {
  const canaries: Canaries = createCanaries();
  const plants = Object.keys(formsOf('')).map((form) => ({ form, value: canaries.word(form) }));
  return withConnection(onDatabase(adminUrl, 'temporal'), async (sql) => {
    await sql`CREATE TABLE ${sql(TABLE)} (data bytea)`;
    for (const { form, value } of plants) {
      await sql`INSERT INTO ${sql(TABLE)} VALUES (${formsOf(value)[form] ?? null})`;
    }
    const inTables = await searchPlaces('', await tablesOf(adminUrl, 'temporal'), canaries);
    await sql`DROP TABLE ${sql(TABLE)}`;
    const missed = plants
      .filter(({ value }) => !inTables.found.some(({ canary }) => canary === value))
      .map(({ form }) => `a planted value in Temporal's database, ${form}`);
    const lines = plants
      .filter(({ form }) => form !== 'compressed')
      .map(({ form, value }) =>
        JSON.stringify({ level: 30, text: formsOf(value)[form]?.toString() }),
      );
    const copy = inMemory('copy', () => `${log}\n${lines.join('\n')}\n${log}`);
    const inLog = await searchPlaces('', [copy], canaries);
    return inLog.found.length === lines.length ? missed : [...missed, 'planted values in a log'];
  });
}
