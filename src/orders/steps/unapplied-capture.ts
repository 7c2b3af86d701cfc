import type { Sql } from '../../db/client.ts';
import type { UnappliedCapture } from '../../domain/index.ts';

/** Finds the state of a capture that the order has not applied, for the order's pages. */
export async function findUnappliedState(
  sql: Sql,
  orderNumber: string,
): Promise<UnappliedCapture | null> {
  const [row] = await sql<[{ state: UnappliedCapture | null }]>`
    SELECT unapplied_capture_of(${orderNumber}) AS state`;
  return row.state;
}
