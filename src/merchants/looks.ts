import type { Actor } from '../db/actor.ts';
import type { Sql } from '../db/client.ts';

/** A person has seen or saved data. The audit log records that, without the buyer's data. */
export interface Look {
  actor: Actor;
  action: 'audit.export' | 'buyer.search' | 'buyer.view' | 'orders.export';
  merchantId?: string;
  /** The order number, if it was one order. */
  subject?: string;
  details?: Record<string, string | string[]>;
}

/** Writes the audit row. Call it before the data is sent. */
export async function writeLook(sql: Sql, look: Look): Promise<void> {
  await sql`
    INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
    SELECT ${valuesOf(sql, look)}`;
}

/**
 * Records that an operator sees the buyer of an order. It writes at most one row an hour for each order, operator
 * and address, because the page may be loaded repeatedly.
 */
export async function writeBuyerView(
  sql: Sql,
  actor: Actor,
  { merchantId, orderNumber: subject }: { merchantId: string; orderNumber: string },
): Promise<void> {
  const action = 'buyer.view';
  const look: Look = { actor, action, merchantId, subject };
  await sql`
    INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
    SELECT ${valuesOf(sql, look)}
    WHERE NOT EXISTS (SELECT FROM audit_log
      WHERE subject = ${subject} AND at > clock_timestamp() - interval '1 hour'
        AND actor = ${actor.name} AND action = ${action}
        AND address IS NOT DISTINCT FROM ${actor.address})`;
}

const valuesOf = (sql: Sql, { actor, action, merchantId, subject, details = {} }: Look) => sql`
  ${actor.name}, ${actor.address}, ${action}, ${merchantId ?? null}, ${subject ?? null},
  ${sql.json(details)}::jsonb`;
